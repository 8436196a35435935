#!/bin/sh
# The whole way once, offline: papers in, two questions, summaries, a table, a tree, a draft, its audit, and all of it as files.
# Usage: demo.sh OUTPUT-FOLDER. Every reply of a model comes from the recordings beside this file; to record them anew,
# set CARREL_DEMO_MODEL, e.g. CARREL_DEMO_MODEL="--model openai/gpt-5-mini --record $PWD/recordings --yes".
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-demo-output}
model=${CARREL_DEMO_MODEL:-"--replay $here/recordings"}
rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
export CARREL_LIBRARY="$out/library"

say() { printf '\n== %s\n' "$*"; }

say "A library of 36 papers: notes in four layouts, as people paste and save them"
carrel init "$out/library"
carrel add "$here/digest.txt" "$here/daily-papers.txt" "$here/abstracts.txt" "$here/reading-list.bib"

say "Found by words and by meaning: reward hacking in code generation"
carrel search "reward hacking in code generation" --count 3

# shellcheck disable=SC2086  # options are several words
say "Question: How do these papers give credit to single steps? A second reader judges each sentence of the answer"
carrel ask "How do these papers give credit to single steps or tokens instead of only the final answer?" --keywords --count 12 --verify $model \
    --to md --to json --output "$out"

say "Question: What do the papers on robots do to need less data?"
carrel ask "What do the papers on robots do to need less data from the real robot, and what did it bring?" --keywords --count 12 $model \
    --to md --to json --output "$out"

say "A question that the library cannot answer is declined, without asking a model"
carrel ask "Which fertilizer gives the highest wheat yield?" --keywords $model

say "A summary of each paper: problem, approach, data, limitations, results"
carrel summarize $model --to md --to csv --to json --output "$out" > "$out/summaries.txt"
echo "see $out/summaries.md"

say "A table: 36 papers by 7 columns"
carrel table methods --columns "$here/columns.toml" $model --to md --to csv --to xlsx --to html --to tex --to bib --to json --output "$out" > "$out/methods.txt"
echo "see $out/methods.md"

say "The table looked at: which training signals are used for which kind of task? A dot is a gap"
COLUMNS=130 carrel table methods --show --count signal --by domain --to md --to csv --to tex --output "$out" > "$out/gaps.txt" 2> /dev/null
sed -n '/gaps: /q;p' "$out/gaps.txt"

say "A taxonomy by where the training signal comes from"
carrel taxonomy training-signal --facet "where the training signal comes from" $model \
    --to md --to csv --to xlsx --to html --to svg --to tex --to json --output "$out"

say "The same tree after an edit: two nodes merged, one renamed, and what that changed; then taken back"
carrel taxonomy training-signal rename robot-control-rewards "Rewards from robots and their simulators"
carrel taxonomy training-signal merge reference-answer-checking code-execution-feedback
carrel taxonomy training-signal --show --diff > "$out/edited.txt" 2> "$out/diff.txt"
grep -E '^(node|paper) ' "$out/diff.txt"
carrel taxonomy training-signal undo 2> /dev/null
carrel taxonomy training-signal undo

say "Related work: a plan to edit, then the text, each sentence for one line of the plan"
carrel draft related-work --topic "Reinforcement learning after pre-training, for language models, multimodal models and robots: \
where the learning signal comes from and how it is assigned" --paragraphs 5 --taxonomy training-signal $model \
    --to md --to tex --to bib --to json --to csv --to html --output "$out"

say "A paper of one's own (an invented one): which papers search alone finds nearest to it; a model would say what it adds, and what is not new"
carrel draft mine --about "$here/my-abstract.txt" > "$out/mine.txt" 2> /dev/null || true
sed -n '2,7p' "$out/mine.txt"

say "Is the draft true? Each of its citations against the papers, as for a manuscript that somebody else wrote; no model is asked"
carrel audit "$out/related-work.tex" "$out/related-work.bib" > "$out/audit.txt" || true
tail -n 1 "$out/audit.txt"

say "How it was made: for the methods section, and the statement on the use of AI"
carrel export --methods --replay "$here/recordings" --to md --output "$out"

say "Made in $out"
echo "library/                        the library: 36 papers; library/drafts/related-work.plan.md is the plan, yours to edit"
echo "how-do-*.md, what-do-*.md       two answers, each sentence with the sentences behind it"
echo "summaries.md .csv                what each paper says of itself"
echo "methods.md .html .xlsx .tex     the comparison table, also as .csv and .bib; edited, the .xlsx is read back (--from)"
echo "methods.count-*.md .tex         how many papers have which training signal and task, with the gaps; also as .csv"
echo "training-signal.md .svg .tex    the taxonomy, every paper filed or unassigned with a reason; also as .html, .xlsx and .csv"
echo "related-work.md .tex .bib       the draft, its coverage and its checks; also as .html"
echo "mine.txt, audit.txt             an own paper among its neighbours; each citation of the draft, judged"
echo "methods-statement.md            how all of this was made"
echo
if [ "${CARREL_DEMO_MODEL:-}" ]; then
    echo "The replies came from the model you named."
else
    echo "No model was asked: all $(find "$here/recordings" -name '*.txt' | wc -l | tr -d ' ') replies are recordings of a language model answering offline."
fi
echo "Open first: $out/related-work.md"
