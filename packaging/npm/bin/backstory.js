#!/usr/bin/env node
// Runs the program of the package for this platform, which npm installs as an optional dependency.
"use strict"
const { spawnSync } = require("child_process")

const name = `@backstory-memory/${process.platform}-${process.arch}`
const file = process.platform === "win32" ? "backstory.exe" : "backstory"
let program
try {
  program = require.resolve(`${name}/bin/${file}`)
} catch {
  console.error(`error: there is no package ${name}`)
  console.error("hint: npm may have skipped optional dependencies: npm install --include=optional")
  process.exit(1)
}
const done = spawnSync(program, process.argv.slice(2), { stdio: "inherit" })
if (done.error) {
  console.error(`error: could not run ${program}: ${done.error.message}`)
  process.exit(1)
}
if (done.signal) process.kill(process.pid, done.signal)
process.exit(done.status)
