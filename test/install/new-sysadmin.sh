#!/bin/sh
# The path of a new sysadmin, word for word as docs/installing.md has it: install, set up, see what DNS lacks, certificate, domain,
# first email, backup, restore elsewhere. It runs as root on a machine of its own, beside neighbours.ts (see new-sysadmin.test.ts),
# and ends at the first step that does not do what the page says.
set -eu
neighbours=${1:-/var/lib/neighbours}
host=mail.example.com
address=192.0.2.10

step() { printf '\n== %s\n' "$1"; }
fail() {
  printf 'new-sysadmin: %s\n' "$1" >&2
  exit 1
}
# Until it is so, or half a minute long.
wait_for() {
  tries=0
  until sh -c "$1" >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || fail "it never came to: $1"
    sleep 0.1
  done
}
publish() {
  rm -f "$neighbours/zone-read"
  cat >>"$neighbours/zone"
  kill -HUP "$(sed 's/.*"pid":\([0-9]*\).*/\1/' "$neighbours/ready")"
  wait_for "[ -e $neighbours/zone-read ]"
}
has() { grep -q -- "$1" "$out" || fail "$(cat "$out")
... has no: $1"; }
out=/var/lib/said

step 'install'
sh /opt/rasket/install.sh >"$out"
has '^  rasket setup$'
# Of this network, and none of the page: its resolver, its mail servers' port, its private addresses, the root of its authority, and
# how long doctor waits for machines that this network does not have. All domains are checked once a year instead of every half
# hour, so that the domain is still unchecked when this script shows it.
cat >>/etc/rasket/rasket.toml <<TOML
[dns]
servers = ["127.0.0.1:5353"]
authority_port = 5353
[network]
mail_allow_private = ["127.0.0.0/8"]
dns_allow_private = ["127.0.0.0/8"]
[delivery]
smtp_port = 2526
[acme]
allow_private = ["127.0.0.0/8"]
[doctor]
seconds = 10
[domains]
sweep = "0 0 1 1 *"
TOML
echo "NODE_EXTRA_CA_CERTS=$neighbours/ca.pem" >/etc/rasket/environment
mkdir -p /run/systemd/system

step 'set up, before DNS has anything'
set_up() {
  rasket setup --yes --host $host --public-address $address --https own --team Office --email ada@example.org \
    --domain example.com "$@"
}
set_up >"$out"
key=$(sed -n 's/^API key  \(rk_.*\)$/\1/p' "$out")
[ -n "$key" ] || fail 'no key was shown'
has "$host has no A record with $address"
has "Reverse DNS of $address is absent"
has 'Certificate: none is requested yet'
has 'The service is running'
sed -n '/^curl /,$p' "$out" | sed '/^}/q' >/var/lib/first-email
# The records, as they were printed.
sed -n '/^; example.com/,/^Publish/p' "$out" | sed '/^;/d; /^Publish/d' >/var/lib/records
[ "$(ps -o user= -p "$(cat /var/lib/rasket/pid)")" = rasket ] || fail 'the service does not run as its own account'
curl -sf http://127.0.0.1:3000/health >/dev/null || fail 'the service does not answer'

step 'what DNS lacks: the host name'
printf '%s.\tIN\tA\t%s\n' $host $address | publish
set_up --acme-directory https://ca.example.net:14000/dir --agree-to-terms >"$out"
has 'Certificate: issued, until '
if grep -q "has no A record" "$out"; then fail 'the record is not seen'; fi
curl -sf --cacert "$neighbours/root.pem" --connect-to ::127.0.0.1: https://$host/health >/dev/null ||
  fail 'the certificate is not shown'

step 'what DNS lacks: the domain'
export RASKET_API_KEY="$key"
rasket domains get example.com >"$out"
has 'not_started'
publish </var/lib/records
rasket domains verify example.com >"$out" 2>&1 || fail "$(cat "$out")"

step 'first email'
sh /var/lib/first-email >"$out"
has '"id"'
wait_for "grep -q '^ada@example.org' $neighbours/arrived"
grep -q '^DKIM-Signature:' "$neighbours/arrived" || fail 'it is not signed'

step 'nothing changes the second time'
before=$(cat /etc/rasket/rasket.toml /var/lib/rasket/pid)
rasket setup --yes --public-address $address >"$out"
has 'Everything was set up already; nothing was changed.'
[ "$(cat /etc/rasket/rasket.toml /var/lib/rasket/pid)" = "$before" ] || fail 'the second call changed something'

step 'backup'
install -d -o rasket -g rasket -m 700 /var/lib/backups
rasket backup /var/lib/backups/today >"$out"

step 'restore elsewhere'
cp -a /var/lib/backups/today /var/lib/elsewhere
printf '[instance]\nhost = "%s"\n[http]\nport = 3400\n[submission]\nports = []\ntls_ports = []\n[receiving]\nports = []\n' $host >/etc/elsewhere.toml
setpriv --reuid=rasket --regid=rasket --init-groups rasket serve --data /var/lib/elsewhere --config /etc/elsewhere.toml \
  >/var/lib/elsewhere.log 2>&1 </dev/null &
wait_for '[ -e /var/lib/elsewhere/run/ready.json ]'
curl -sf http://127.0.0.1:3400/ready >"$out"
has 'restored'
curl -sf -H "Authorization: Bearer $key" -A new-sysadmin http://127.0.0.1:3400/emails >"$out"
has '"to":\["ada@example.org"\]'
rasket sending on --data /var/lib/elsewhere --config /etc/elsewhere.toml >"$out"
has 'Sending is on'
kill $!

step 'done'
