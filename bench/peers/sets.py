"""Reads public sets of documents and questions, reduces them to a size that every contender can load, and scores results."""
import gzip
import json


def read(path, documents, questions):
    """Returns whole groups of a set with at least `documents` documents, and up to `questions` questions on them.

    Groups stay whole, because a question is easier if part of its group is missing.
    """
    found, asked = [], []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if line["t"] == "doc":
                found.append(line)
            elif line["t"] == "q":
                asked.append(line)
    sizes = {}
    for one in found:
        sizes[one["g"]] = sizes.get(one["g"], 0) + 1
    chosen, total = set(), 0
    for group in sorted(sizes, key=lambda group: (sizes[group], group)):
        if total >= documents:
            break
        chosen.add(group)
        total += sizes[group]
    name = path.name.split(".")[0]
    kept = [{"id": one["id"], "project": f"{name}-{one['g']}".replace("/", "-"), "text": one["text"]} for one in found if one["g"] in chosen]
    asked = [one for one in asked if one["g"] in chosen]
    step = max(1, len(asked) // questions)
    return kept, [{"project": f"{name}-{one['g']}".replace("/", "-"), "text": " ".join(one["text"].split()), "relevant": set(one["rel"])}
                  for one in asked[::step][:questions]]


def hit(found, relevant, first):
    """Returns whether a relevant document is among the first results."""
    return bool(relevant & set(found[:first]))
