# Shell functions for the five minutes in README.md. Source this file in the folder of the clone.

# api PATH [curl options]   one request to the demo's community; prints the answer
# pick FIELD ...            prints fields of a JSON answer, such as id or step.block.prompt
# last FIELD                one field of the answer before, to keep it in a variable

PYTHON=.venv/bin/python
ANSWER=$(mktemp)
KEY=$($PYTHON -c 'import json; print(json.load(open("var/demo.json"))["api_key"])')
API=$($PYTHON -c 'import json; print(json.load(open("var/demo.json"))["api"])')

api() {
    local path=$1
    shift
    curl -sS -H "X-API-Key: $KEY" -H 'Content-Type: application/json' "$API$path" "$@" | tee "$ANSWER"
}

pick() {
    $PYTHON -c '
import json, sys
answer = json.load(sys.stdin)
for field in sys.argv[1:]:
    value = answer
    for key in field.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    print(f"{field}: {value}" if len(sys.argv) > 2 else value)' "$@"
}

last() { pick "$1" < "$ANSWER"; }
