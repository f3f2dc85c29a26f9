import { describe, expect, it } from 'vitest';
import { findFaults, loadToml } from './config-files.ts';

const conflicts = [
  {
    why: 'nobody could say what an email beyond costs',
    toml: 'plans.standard.overage_emails = 1000',
    fault:
      'plans.standard.overage_emails is 1000 but plans.standard.overage_per_1000_cents is 0; give the price of 1,000 of them, or raise plans.standard.included_emails',
  },
  {
    why: 'a price of what is never sent',
    toml: 'plans.standard.overage_per_1000_cents = 40',
    fault:
      'plans.standard.overage_per_1000_cents is 40 but plans.standard.overage_emails is 0; set how many emails a month may be sent beyond the included ones',
  },
  {
    why: 'pg has nowhere to go',
    toml: 'database.driver = "pg"',
    fault:
      'database.driver is "pg" but database.url is empty; give a URL such as postgres://user:password@db.example.com:5432/rasket',
  },
  {
    why: 'mail would silently go to SQLite',
    toml: 'database.url = "postgres://me:hidden@db/rasket"',
    fault:
      'database.url is set but database.driver is "better-sqlite3"; set database.driver to "pg", or database.url to ""',
  },
  {
    why: 'nobody would listen there',
    toml: 'database.listen_url = "postgres://me:hidden@db/rasket"',
    fault:
      'database.listen_url is set but database.driver is "better-sqlite3"; set database.driver to "pg", or database.listen_url to ""',
  },
  {
    why: 'a server that cannot be written to is asked for',
    toml: '[database]\ndriver = "pg"\nurl = "postgres://me:hidden@db1,db2/rasket?target_session_attrs=standby"',
    fault: 'target_session_attrs in database.url is "standby"; set it to any, read-write, primary, or leave it out',
  },
  {
    why: 'blobs have no bucket',
    toml: '[blobs]\nstore = "s3"\nendpoint = "https://s3.example.com"\naccess_key = "AK"\nsecret_key = "SK"',
    fault: 'blobs.store is "s3" but blobs.bucket is empty',
  },
  {
    why: 'nobody signs for the blobs',
    toml: '[blobs]\nstore = "s3"\nendpoint = "https://s3.example.com"\naccess_key = "AK"\nbucket = "mail"',
    fault:
      'blobs.store is "s3", so exactly one of blobs.secret_key (RASKET_BLOBS_SECRET_KEY) and blobs.secret_key_file must be set',
  },
  {
    why: 'no call could be larger than email',
    toml: 'http.email_body_limit_bytes = 1024',
    fault: 'http.email_body_limit_bytes is 1024; it must be at least http.body_limit_bytes (1048576)',
  },
  {
    why: 'one destination above all',
    toml: 'delivery.max_connections = 5',
    fault: 'delivery.max_connections_per_destination is 20; it must be at most delivery.max_connections (5)',
  },
  {
    why: 'a lease shorter than a delivery',
    toml: 'delivery.lease_seconds = 930',
    fault:
      'delivery.lease_seconds is 930; it must be more than the connect, reply and data timeouts together (930 seconds)',
  },
  {
    why: 'waits that shrink',
    toml: 'delivery.retry_minutes = [1, 30, 5]',
    fault:
      'delivery.retry_minutes[2] is 5, less than the 30 before it; each wait must be at least as long as the previous one',
  },
  {
    why: 'retries that never come',
    toml: 'delivery.give_up_hours = 4',
    fault:
      'delivery.retry_minutes adds up to 2871 minutes, more than delivery.give_up_hours (4 hours, 240 minutes); remove waits from its end, or set delivery.give_up_hours to 48',
  },
  {
    why: 'a key of nothing',
    toml: 'tls.key_file = "key.pem"',
    fault: 'tls.key_file is set but tls.certificate_file is empty; set it to the certificate of this key',
  },
  {
    why: 'one half of an external account',
    toml: 'acme = { directory = "https://ca.example/dir", agree_to_terms = true, eab_key_id = "customer-17" }',
    fault: 'acme.eab_key_id is set but acme.eab_hmac_key is empty; an external account needs both',
  },
  {
    why: 'terms that nobody agreed to',
    toml: 'acme.directory = "https://ca.example/dir"',
    fault:
      'acme.directory is https://ca.example/dir but acme.agree_to_terms is false; read the terms of this authority, then set it to true',
  },
  {
    why: 'a proof at a port that is closed',
    toml: 'acme = { directory = "https://ca.example/dir", agree_to_terms = true, challenge = "tls-alpn-01" }',
    fault:
      'acme.challenge is "tls-alpn-01" but https.ports is empty; this challenge needs port 443: open it, or choose "http-01"',
  },
  {
    why: 'a wildcard that is proven at a port',
    toml: 'acme = { directory = "https://ca.example/dir", agree_to_terms = true, names = ["*.example.com"] }',
    fault: 'acme.names has *.example.com but acme.challenge is "http-01"; wildcards can only be validated by "dns-01"',
  },
  {
    why: 'a proof in a zone that nobody may write',
    toml: 'acme = { directory = "https://ca.example/dir", agree_to_terms = true, challenge = "dns-01" }',
    fault:
      'acme.challenge is "dns-01" but acme.dns_provider is empty; set it to the entry that may change the zones of these names',
  },
  {
    why: 'a provider that is not there',
    toml: 'acme = { directory = "https://ca.example/dir", agree_to_terms = true, challenge = "dns-01", dns_provider = "office" }',
    fault:
      'acme.challenge is "dns-01" but acme.dns_provider is "office", which is not in [dns_providers]; set it to the entry that may change the zones of these names',
  },
  {
    why: 'a port of HTTPS that leads to itself',
    toml: 'https = { ports = [443], redirect_ports = [80, 443] }',
    fault: 'https.redirect_ports and https.ports both have 443; remove it from one of them',
  },
  {
    why: 'a port of HTTPS in clear',
    toml: 'https.ports = [3000]',
    fault: 'http.port and https.ports both have 3000; remove it from one of them',
  },
  {
    why: 'a port with TLS from the first byte and without',
    toml: 'submission.tls_ports = [465, 25]',
    fault: 'submission.tls_ports and submission.ports both have 25; remove it from one of them',
  },
  {
    why: 'a port with TLS from the first byte for mail from the world',
    toml: 'receiving.ports = [465]',
    fault: 'submission.tls_ports and receiving.ports both have 465; remove it from one of them',
  },
  {
    why: 'API keys in clear on all networks',
    toml: 'submission.insecure_login = true',
    fault:
      'submission.insecure_login is true but smtp.host is ""; API keys may be sent unencrypted over loopback only: set smtp.host to "127.0.0.1"',
  },
  {
    why: 'a mistyped plan',
    toml: 'team.default_plan = "standart"',
    fault: 'team.default_plan is "standart", but there is no [plans.standart]; did you mean standard?',
  },
  {
    why: 'two plans nobody can tell apart',
    toml: '[plans.pro]\ndaily_cap = 5',
    fault: 'plans.pro.name is "Standard" like plans.standard.name; give each plan a different name',
  },
];

describe('settings that contradict each other stop the start', () => {
  it.each(conflicts)('$why: $toml', ({ toml, fault }) => {
    expect(findFaults(() => loadToml(toml))).toEqual([fault]);
  });
});
