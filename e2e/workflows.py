#!/usr/bin/env python3
"""Checks .github/workflows without running them: that they parse, that their actions are pinned, that the scripts and files which they
name exist, that shell scripts have valid syntax, and that the release builds the targets that scripts/package knows."""

import glob
import os
import re
import subprocess
import sys

from packages import DIST, ROOT, check, script

try:
    import yaml
except ImportError:
    sys.exit(print("workflows: SKIPPED, the Python package PyYAML is missing"))


def steps_of(workflow):
    return [(name, step) for name, job in workflow["jobs"].items() for step in job["steps"]]


def check_workflow(path):
    name = os.path.relpath(path, ROOT)
    with open(path) as file:
        workflow = yaml.safe_load(file)
    jobs = workflow["jobs"]
    for job in jobs.values():
        needs = job.get("needs", [])
        unknown = set([needs] if isinstance(needs, str) else needs) - set(jobs)
        check("runs-on" in job and "timeout-minutes" in job and not unknown, "%s: a job has a machine, a time limit and known predecessors" % name, job)
    loose = [step["uses"] for _, step in steps_of(workflow) if "uses" in step and not re.search(r"@[0-9a-f]{40}$", step["uses"])]
    check(not loose, "%s: all actions are pinned to a commit" % name, loose)
    for _, step in steps_of(workflow):
        if "run" in step:
            # Placeholders are replaced before the shell sees the text.
            text = re.sub(r"\$\{\{.*?\}\}", "x", step["run"])
            done = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True)
            check(done.returncode == 0, "%s: `%s` is valid" % (name, text.strip().splitlines()[0]), done.stderr)
            named = re.findall(r"(?<![\w./-])((?:scripts|e2e|\.ci|fuzz|bench)/[\w./-]+)", text)
            missing = [file for file in named if not os.access(os.path.join(ROOT, file), os.X_OK)]
            check(not missing, "%s: the scripts that it runs exist" % name, missing)
    return workflow


def check_release(workflow):
    package = script("package")
    built = [row["target"] for row in workflow["jobs"]["build"]["strategy"]["matrix"]["include"]]
    packaged = re.findall(r"(\S+)=programs/(\S+)/(backstory\S*)", next(step["run"] for _, step in steps_of(workflow) if step.get("name") == "Package"))
    check(set(built) == set(package.TARGETS) == {target for target, _, _ in packaged}, "the release builds and packages all targets", built)
    right = [target == folder and program == package.program_name(target) for target, folder, program in packaged]
    check(all(right), "each package has the program of its target", packaged)
    uploaded = re.findall(r"dist/[\w*./-]+", next(step["run"] for _, step in steps_of(workflow) if step.get("name") == "Publish"))
    # Only a release for Windows has a winget manifest.
    missing = [path for path in uploaded if "winget" not in path and not glob.glob(os.path.join(os.path.dirname(DIST), path))]
    check(not missing, "the files that it publishes exist in dist/", missing)
    notes = script("release-notes").notes
    text = "# C\n\n## Unreleased\n\n- Later.\n\n## 0.2.0 (2026-12-01)\n\n- New.\n\n## 0.1.0 (2026-11-16)\n\n- Old.\n"
    check(notes(text, "0.2.0") == "- New." and notes(text, "0.1.0") == "- Old." and notes(text, "0.3.0") is None, "the notes are the section of the version")


def main():
    for path in sorted(glob.glob(os.path.join(ROOT, ".github/workflows/*.yml"))):
        workflow = check_workflow(path)
        if path.endswith("release.yml"):
            check_release(workflow)


if __name__ == "__main__":
    main()
