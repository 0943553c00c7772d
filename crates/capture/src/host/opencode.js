// Written by `backstory install`; `backstory uninstall opencode` removes it.
//
// Reports the events of a session to backstory and injects its memories. Never throws: a missing memory must not break a
// turn.
import { spawn } from "node:child_process"

const PROGRAM = {program}
const TIMEOUT_MS = 2000

// Runs one hook and resolves with its injection, if any.
const report = (event, payload) =>
  new Promise((resolve) => {
    try {
      const child = spawn(PROGRAM, ["hook", event, "--host", "opencode"], { stdio: ["pipe", "pipe", "ignore"] })
      const timeout = setTimeout(() => resolve(undefined), TIMEOUT_MS)
      let printed = ""
      child.stdout.on("data", (data) => (printed += data))
      child.stdin.on("error", () => {})
      child.on("error", () => resolve(undefined))
      child.on("close", () => {
        clearTimeout(timeout)
        try {
          resolve(JSON.parse(printed).context)
        } catch {
          resolve(undefined)
        }
      })
      child.stdin.end(JSON.stringify(payload))
    } catch {
      resolve(undefined)
    }
  })

export const Backstory = async ({ client, directory }) => {
  const started = new Map() // session -> injection at its start
  const prompts = new Map() // session -> injection for the current prompt
  const children = new Set() // sessions of sub-agents, which are not recorded
  const base = (sessionID) => ({ session_id: sessionID, cwd: directory })

  const start = (sessionID, source) => {
    if (!started.has(sessionID)) started.set(sessionID, report("session-start", { ...base(sessionID), source }))
    return started.get(sessionID)
  }

  // Returns the last message of the agent, which no event contains.
  const lastMessage = async (sessionID) => {
    try {
      const answer = await client.session.messages({ path: { id: sessionID } })
      const messages = answer.data ?? []
      for (const { info, parts } of messages.slice().reverse()) {
        if (info.role !== "assistant") continue
        const text = parts.filter((part) => part.type === "text").map((part) => part.text).join("\n")
        if (text.trim()) return text
      }
    } catch {}
    return undefined
  }

  return {
    event: async ({ event }) => {
      const session = event.properties?.info
      if (event.type === "session.created") {
        if (session?.parentID) children.add(session.id)
        else if (session?.id) await start(session.id, "startup")
      } else if (event.type === "session.idle") {
        const id = event.properties.sessionID
        if (children.has(id)) return
        await report("stop", { ...base(id), last_assistant_message: await lastMessage(id) })
      } else if (event.type === "session.compacted") {
        await report("pre-compact", { ...base(event.properties.sessionID), trigger: "auto" })
      } else if (event.type === "session.deleted" && session?.id) {
        await report("session-end", { ...base(session.id), reason: "other" })
      }
    },

    "chat.message": async (input, output) => {
      if (children.has(input.sessionID)) return
      await start(input.sessionID, "startup")
      const text = output.parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text)
      if (!text.length) return
      const prompt_id = input.messageID ?? output.message?.id
      const injection = await report("user-prompt-submit", { ...base(input.sessionID), prompt_id, prompt: text.join("\n") })
      prompts.set(input.sessionID, injection)
    },

    "experimental.chat.system.transform": async (input, output) => {
      const injections = [await started.get(input.sessionID), prompts.get(input.sessionID)].filter(Boolean)
      output.system.push(...injections)
    },

    "tool.execute.after": async (input, output) => {
      if (children.has(input.sessionID)) return
      const injection = await report("post-tool-use", {
        ...base(input.sessionID),
        tool_name: input.tool,
        tool_use_id: input.callID,
        tool_input: input.args ?? {},
        tool_response: output.output ?? "",
        exit: output.metadata?.exit ?? null,
      })
      if (injection && typeof output.output === "string") output.output += `\n\n${injection}`
    },
  }
}
