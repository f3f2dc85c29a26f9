import { describe, expect, it } from 'vitest';
import { findFaults, loadToml } from './config-files.ts';

const port = 'an integer from 0 to 65535 (TCP port; 0 takes any free one)';
const cidr = 'a CIDR range such as 10.0.0.0/8';
const host = 'a host name such as mail.example.com';
const mailDomain =
  'a domain such as example.com, in A-labels (xn--bcher-kva.example for bücher.example) and without a final dot';
const origin =
  'an http or https origin without a path, a user name or a trailing slash, such as https://mail.example.com, or ""';
const dns = '"ip" or "ip:port", such as 192.0.2.53 or [2001:db8::53]:5353';
const smarthost = '"host:port", such as relay.example.com:587, or ""';
const spf = 'an SPF record of at most 255 characters that begins with "v=spf1 ", with {host} as its only placeholder';
const cron = 'a cron expression of five fields in UTC, such as */30 * * * *';
const currency =
  'billing.currency must be three capital letters of ISO 4217, of a currency with hundredths, such as EUR';

const scheme = 'an address with a scheme of its own, such as app.example:/callback';

const badValues = [
  {
    why: 'a scheme that browsers run',
    toml: 'oauth.private_scheme_redirects = ["app.example:/callback", "javascript:alert(1)"]',
    fault: `oauth.private_scheme_redirects[1] must be ${scheme}; got "javascript:alert(1)"`,
  },
  {
    why: 'a scheme that needs no listing',
    toml: 'oauth.private_scheme_redirects = ["https://app.example.com/callback"]',
    fault: `oauth.private_scheme_redirects[0] must be ${scheme}; got "https://app.example.com/callback"`,
  },
  { why: 'text for a number', toml: 'http.port = "3000"', fault: `http.port must be ${port}; got "3000"` },
  { why: 'above the range', toml: 'http.port = 65536', fault: `http.port must be ${port}; got 65536` },
  { why: 'below the range', toml: 'http.port = -1', fault: `http.port must be ${port}; got -1` },
  { why: 'a fraction', toml: 'http.port = 80.5', fault: `http.port must be ${port}; got 80.5` },
  {
    why: 'larger than a number holds',
    toml: 'http.port = 9007199254740993',
    fault: `http.port must be ${port}; got 9007199254740993`,
  },
  { why: 'not a number', toml: 'http.port = nan', fault: `http.port must be ${port}; got NaN` },
  { why: 'a date', toml: 'http.port = 2026-01-01', fault: `http.port must be ${port}; got a date` },
  { why: 'a list for one value', toml: 'http.port = [1, 2]', fault: `http.port must be ${port}; got [1,2]` },
  { why: 'a table for one value', toml: '[http.port]', fault: `http.port must be ${port}; got a table` },
  { why: 'a value for a section', toml: 'http = 1', fault: 'http must be a table of settings, [http]; got 1' },
  {
    why: 'a list of sections',
    toml: '[[http]]\nport = 1',
    fault: 'http must be a table of settings, [http]; got [{"port":1}]',
  },
  {
    why: 'a value for a region',
    toml: 'regions.home = "x"',
    fault: 'regions.home must be a table of settings, [regions.home]; got "x"',
  },
  { why: 'a number for a flag', toml: 'delivery.capture = 1', fault: 'delivery.capture must be true or false; got 1' },
  {
    why: 'text for a flag',
    toml: 'delivery.capture = "true"',
    fault: 'delivery.capture must be true or false; got "true"',
  },
  {
    why: 'no such driver',
    toml: 'database.driver = "mysql"',
    fault: 'database.driver must be "better-sqlite3", "sqlite3" or "pg"; got "mysql"',
  },
  {
    why: 'words are case-sensitive',
    toml: 'log.format = "JSON"',
    fault: 'log.format must be "json" or "pretty"; got "JSON"',
  },
  {
    why: 'a region that is nowhere',
    toml: 'team.default_region = "mars"',
    fault: 'team.default_region must be "us-east-1", "eu-west-1", "sa-east-1" or "ap-northeast-1"; got "mars"',
  },
  {
    why: 'a level of another logger',
    toml: 'log.level = "warning"',
    fault: 'log.level must be "trace", "debug", "info", "warn", "error", "fatal" or "silent"; got "warning"',
  },
  {
    why: 'underscores stand in no host name',
    toml: 'instance.host = "my_host"',
    fault: `instance.host must be ${host}; got "my_host"`,
  },
  {
    why: 'a domain of recipients has A-labels',
    toml: 'delivery.tls_exceptions = ["bücher.example"]',
    fault: `delivery.tls_exceptions[0] must be ${mailDomain}; got "bücher.example"`,
  },
  {
    why: 'a domain of recipients has no final dot',
    toml: 'delivery.tls_exceptions = ["example.com."]',
    fault: `delivery.tls_exceptions[0] must be ${mailDomain}; got "example.com."`,
  },
  { why: 'a host name is needed', toml: 'instance.host = ""', fault: `instance.host must be ${host}; got ""` },
  {
    why: 'EHLO needs a name, not an address',
    toml: 'instance.host = "192.0.2.1"',
    fault: `instance.host must be ${host}; got "192.0.2.1"`,
  },
  {
    why: 'a label above 63 octets',
    toml: `instance.host = "${'a'.repeat(64)}.example"`,
    fault: `instance.host must be ${host}; got "${'a'.repeat(64)}.example"`,
  },
  {
    why: 'spaces in a word',
    toml: 'instance.env = "my test"',
    fault: 'instance.env must be a word of 1 to 32 lower-case letters, digits and hyphens; got "my test"',
  },
  {
    why: 'an address of five parts',
    toml: 'http.host = "127.0.0.0.1"',
    fault: 'http.host must be an IP address or a host name of this machine, such as 127.0.0.1; got "127.0.0.0.1"',
  },
  {
    why: 'a user without a host, and no socket',
    toml: 'database.url = "postgres://me@/rasket"',
    fault:
      'database.url must be a URL such as postgres://user:password@db.example.com:5432/rasket, with / # ? @ : in the password percent-encoded, or postgres://user@/rasket?host=/run/postgresql for a unix socket, or ""; got a secret value (not shown)',
  },
  {
    why: 'a slash would double in links',
    toml: 'http.public_url = "https://mail.example.com/"',
    fault: `http.public_url must be ${origin}; got "https://mail.example.com/"`,
  },
  {
    why: 'no scheme',
    toml: 'http.public_url = "mail.example.com"',
    fault: `http.public_url must be ${origin}; got "mail.example.com"`,
  },
  {
    why: 'a password in a public place',
    toml: 'http.public_url = "https://me:secret@example.com"',
    fault: `http.public_url must be ${origin}; got "https:***@example.com"`,
  },
  {
    why: 'an address is no range',
    toml: 'http.trusted_proxies = ["10.0.0.1"]',
    fault: `http.trusted_proxies[0] must be ${cidr}; got "10.0.0.1"`,
  },
  {
    why: 'a prefix too long',
    toml: 'http.trusted_proxies = ["::1/128", "10.0.0.0/33"]',
    fault: `http.trusted_proxies[1] must be ${cidr}; got "10.0.0.0/33"`,
  },
  {
    why: 'a shortened address',
    toml: 'network.mail_allow_private = ["10/8"]',
    fault: `network.mail_allow_private[0] must be ${cidr}; got "10/8"`,
  },
  {
    why: 'two prefixes',
    toml: 'network.http_allow_private = ["10.0.0.0/8/8"]',
    fault: `network.http_allow_private[0] must be ${cidr}; got "10.0.0.0/8/8"`,
  },
  {
    why: 'one value for a list',
    toml: 'network.http_allow_private = "10.0.0.0/8"',
    fault: `network.http_allow_private must be a list of 0 to 100 items, each ${cidr}; got "10.0.0.0/8"`,
  },
  {
    why: 'a resolver by name',
    toml: 'dns.servers = ["dns.example.com"]',
    fault: `dns.servers[0] must be ${dns}; got "dns.example.com"`,
  },
  {
    why: 'no such port',
    toml: 'dns.servers = ["192.0.2.53:70000"]',
    fault: `dns.servers[0] must be ${dns}; got "192.0.2.53:70000"`,
  },
  {
    why: 'too short to get an answer',
    toml: 'dns.timeout_ms = 5',
    fault: 'dns.timeout_ms must be an integer from 100 to 60000 (milliseconds); got 5',
  },
  {
    why: 'no retry at all',
    toml: 'delivery.retry_minutes = []',
    fault: 'delivery.retry_minutes must be a list of 1 to 100 items; got []',
  },
  {
    why: 'a retry at once',
    toml: 'delivery.retry_minutes = [0, 5]',
    fault: 'delivery.retry_minutes[0] must be an integer from 1 to 10080 (minutes); got 0',
  },
  {
    why: 'an empty path',
    toml: 'database.path = ""',
    fault: 'database.path must be the path of a file, not empty; got ""',
  },
  { why: 'not an SPF record', toml: 'domains.spf = "spf1 -all"', fault: `domains.spf must be ${spf}; got "spf1 -all"` },
  {
    why: 'a placeholder nobody fills',
    toml: 'domains.spf = "v=spf1 a:{hots} ~all"',
    fault: `domains.spf must be ${spf}; got "v=spf1 a:{hots} ~all"`,
  },
  {
    why: 'no host name when filled in',
    toml: 'domains.return_path_mx = "{host}."',
    fault: 'domains.return_path_mx must be a host name, or one with {host} in it, such as mx.{host}; got "{host}."',
  },
  {
    why: 'six fields would mean seconds',
    toml: 'domains.sweep = "0 */30 * * * *"',
    fault: `domains.sweep must be ${cron}; got "0 */30 * * * *"`,
  },
  {
    why: 'no such minute',
    toml: 'domains.sweep = "61 * * * *"',
    fault: `domains.sweep must be ${cron}; got "61 * * * *"`,
  },
  {
    why: 'IPv6 for IPv4',
    toml: 'regions.eu-west-1.source_v4 = "::1"',
    fault: 'regions.eu-west-1.source_v4 must be an IPv4 address such as 192.0.2.10, or ""; got "::1"',
  },
  {
    why: 'a zone names an interface of one boot',
    toml: 'regions.eu-west-1.source_v6 = "fe80::1%eth0"',
    fault: 'regions.eu-west-1.source_v6 must be an IPv6 address such as 2001:db8::10, or ""; got "fe80::1%eth0"',
  },
  {
    why: 'no port',
    toml: 'regions.eu-west-1.smarthost = "relay.example.com"',
    fault: `regions.eu-west-1.smarthost must be ${smarthost}; got "relay.example.com"`,
  },
  {
    why: 'brackets are for IPv6',
    toml: 'regions.eu-west-1.smarthost = "[relay]:25"',
    fault: `regions.eu-west-1.smarthost must be ${smarthost}; got "[relay]:25"`,
  },
  {
    why: 'the environment has no capitals',
    toml: '[regions.EU]\nsandbox = true',
    fault: 'regions.EU is not a valid name; use lower-case letters, digits and single hyphens, such as regions.my-own',
  },
  {
    why: 'a name of two lines',
    toml: 'plans.standard.name = "a\\nb"',
    fault: 'plans.standard.name must be a name of 1 to 64 characters on one line; got "a\\nb"',
  },
  {
    why: 'more than anybody has',
    toml: 'plans.standard.contact_limit = 1000000001',
    fault: 'plans.standard.contact_limit must be an integer from 0 to 1000000000 (contacts); got 1000000001',
  },
  {
    why: 'a negative limit',
    toml: 'plans.standard.daily_cap = -1',
    fault: 'plans.standard.daily_cap must be an integer from 0 to 1000000000 (emails a day; 0 for no limit); got -1',
  },
  {
    why: 'no such way to speak to a model',
    toml: 'ai.kind = "gemini"',
    fault: 'ai.kind must be "openai" or "anthropic"; got "gemini"',
  },
  {
    why: 'a name of two words',
    toml: 'ai.model = "gpt 4"',
    fault: `ai.model must be the name of a model, at most 200 characters without spaces, or ""; got "gpt 4"`,
  },
  {
    why: 'no time for an answer',
    toml: 'ai.timeout_seconds = 0',
    fault: 'ai.timeout_seconds must be an integer from 1 to 600 (seconds); got 0',
  },
  { why: 'a currency without hundredths', toml: 'billing.currency = "JPY"', fault: `${currency}; got "JPY"` },
  { why: 'no currency', toml: 'billing.currency = "EURO"', fault: `${currency}; got "EURO"` },
  {
    why: 'a series that no file could be named by',
    toml: 'billing.series = "INV/2026"',
    fault: 'billing.series must be 1 to 20 capital letters, digits and hyphens, such as INV; got "INV/2026"',
  },
  {
    why: 'no such place',
    toml: 'billing.time_zone = "Mars/Olympus"',
    fault: 'billing.time_zone must be the name of an IANA time zone, such as Europe/Berlin; got "Mars/Olympus"',
  },
  {
    why: 'an issuer of two lines',
    toml: 'billing.issuer = "Mail Ltd\\nLondon"',
    fault:
      'billing.issuer must be a name and address of at most 500 characters on one line, or ""; got "Mail Ltd\\nLondon"',
  },
  {
    why: 'text for a flag of billing',
    toml: 'billing.self_service = "yes"',
    fault: 'billing.self_service must be true or false; got "yes"',
  },
  {
    why: 'a price in fractions of a cent',
    toml: 'plans.standard.monthly_price_cents = 9.99',
    fault: 'plans.standard.monthly_price_cents must be an integer from 0 to 100000000 (cents a month); got 9.99',
  },
  {
    why: 'less than no credits',
    toml: 'plans.standard.ai_credits = -1',
    fault:
      'plans.standard.ai_credits must be an integer from 0 to 1000000000 (answers of the AI helpers a month); got -1',
  },
  {
    why: 'a long value is cut to one line',
    toml: `log.format = "${'x'.repeat(200)}"`,
    fault: `log.format must be "json" or "pretty"; got "${'x'.repeat(76)}...`,
  },
];

describe('a value of the wrong kind or range stops the start with the allowed values', () => {
  it.each(badValues)('$why: $toml', ({ toml, fault }) => {
    expect(findFaults(() => loadToml(toml))).toEqual([`rasket.toml: ${fault}`]);
  });
});
