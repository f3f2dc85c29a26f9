import ipaddr from 'ipaddr.js';
import { findNearest } from '../../contract/index.ts';
import { isTarget, parsePostgresUrl, TARGETS } from '../../protocol/postgres-url.ts';
import { readServerAddress } from './network-kinds.ts';
import { shippedProviders } from './provider-settings.ts';
import { readMember, variableName, type Config, type PoolSettings, type Source } from './settings.ts';

/** A violated rule over several settings; `keys` are the settings it checked. */
interface Conflict {
  readonly keys: readonly string[];
  readonly text: string;
}

export function findConflicts(config: Config): Conflict[] {
  return [
    ...checkDatabase(config),
    ...checkBlobs(config),
    ...checkBodyLimits(config),
    ...checkConnections(config),
    ...checkTlsFiles(config),
    ...checkHttpsPorts(config),
    ...checkAcme(config),
    ...checkSmtpPorts(config),
    ...checkInsecureLogin(config),
    ...checkDevelopment(config),
    ...checkLease(config),
    ...checkRetries(config),
    ...checkChoice('team.default_plan', config.team.default_plan, 'plans', config.plans),
    ...checkPlanNames(config),
    ...checkOverage(config),
    ...checkDnsProviders(config),
    ...checkRelayNames(config),
    ...checkRelays(config),
    ...checkProviders(config),
    ...checkPools(config),
    ...checkBreakers(config),
    ...checkModel(config),
    ...checkDoctor(config),
  ];
}

// A url next to an embedded driver is an error, not ignored: the operator who set it believes that the mail is in
// PostgreSQL.
function checkDatabase({ database: { driver, url, listen_url: listenUrl } }: Config): Conflict[] {
  const keys = ['database.driver', 'database.url'];
  if (driver === 'pg' && url === '') {
    const right = 'postgres://user:password@db.example.com:5432/rasket';
    return [{ keys, text: `database.driver is "pg" but database.url is empty; give a URL such as ${right}` }];
  }
  if (driver !== 'pg' && url !== '') {
    const text = `database.url is set but database.driver is "${driver}"; set database.driver to "pg", or database.url to ""`;
    return [{ keys, text }];
  }
  if (driver !== 'pg' && listenUrl !== '') {
    const text = `database.listen_url is set but database.driver is "${driver}"; set database.driver to "pg", or database.listen_url to ""`;
    return [{ keys: ['database.driver', 'database.listen_url'], text }];
  }
  return [...checkTarget('database.url', url), ...checkTarget('database.listen_url', listenUrl)];
}

function checkTarget(key: string, url: string): Conflict[] {
  const { target } = parsePostgresUrl(url) ?? {};
  if (target === undefined || isTarget(target)) return [];
  const text = `target_session_attrs in ${key} is "${target}"; set it to ${TARGETS.join(', ')}, or leave it out`;
  return [{ keys: [key], text }];
}

function checkBlobs({ blobs }: Config): Conflict[] {
  const { store, endpoint, bucket, access_key: accessKey, secret_key: secret, secret_key_file: file } = blobs;
  if (store === 'files') return [];
  const conflicts: Conflict[] = Object.entries({ endpoint, bucket, access_key: accessKey })
    .filter(([, value]) => value === '')
    .map(([name]) => ({
      keys: ['blobs.store', `blobs.${name}`],
      text: `blobs.store is "${store}" but blobs.${name} is empty`,
    }));
  if ((secret === '') === (file === '')) {
    const text = `blobs.store is "${store}", so exactly one of blobs.secret_key (RASKET_BLOBS_SECRET_KEY) and blobs.secret_key_file must be set`;
    conflicts.push({ keys: ['blobs.store', 'blobs.secret_key', 'blobs.secret_key_file'], text });
  }
  return conflicts;
}

function checkBreakers({ breakers }: Config): Conflict[] {
  return (['complaint', 'bounce'] as const).flatMap((cause) => {
    const slow = breakers[`${cause}_slow_percent`];
    const pause = breakers[`${cause}_pause_percent`];
    if (pause >= slow) return [];
    const keys = [`breakers.${cause}_slow_percent`, `breakers.${cause}_pause_percent`];
    return [
      {
        keys,
        text: `breakers.${cause}_pause_percent is ${pause}; it must be at least breakers.${cause}_slow_percent (${slow})`,
      },
    ];
  });
}

function checkBodyLimits({ http }: Config): Conflict[] {
  const { body_limit_bytes: general, email_body_limit_bytes: email } = http;
  if (email >= general) return [];
  const keys = ['http.body_limit_bytes', 'http.email_body_limit_bytes'];
  return [
    { keys, text: `http.email_body_limit_bytes is ${email}; it must be at least http.body_limit_bytes (${general})` },
  ];
}

function checkConnections({ delivery }: Config): Conflict[] {
  const { max_connections: all, max_connections_per_destination: one } = delivery;
  if (one <= all) return [];
  const keys = ['delivery.max_connections', 'delivery.max_connections_per_destination'];
  const text = `delivery.max_connections_per_destination is ${one}; it must be at most delivery.max_connections (${all})`;
  return [{ keys, text }];
}

/** Anybody could forge an unsigned notification. */
function checkDoctor({ doctor }: Config): Conflict[] {
  if (doctor.notify_url === '' || doctor.notify_secret !== '') return [];
  const keys = ['doctor.notify_url', 'doctor.notify_secret'];
  const how = 'echo whsec_$(head -c 24 /dev/urandom | base64)';
  return [{ keys, text: `doctor.notify_url is set but doctor.notify_secret is empty; make one with: ${how}` }];
}

function checkTlsFiles({ tls }: Config): Conflict[] {
  if (tls.key_file === '' || tls.certificate_file !== '') return [];
  const keys = ['tls.certificate_file', 'tls.key_file'];
  return [
    { keys, text: 'tls.key_file is set but tls.certificate_file is empty; set it to the certificate of this key' },
  ];
}

function checkHttpsPorts({ http, https }: Config): Conflict[] {
  const all = [
    ...https.ports.map((port) => ({ key: 'https.ports', port })),
    ...https.redirect_ports.map((port) => ({ key: 'https.redirect_ports', port })),
    { key: 'http.port', port: http.port },
  ].filter(({ port }) => port !== 0);
  const second = all.find(({ port }, index) => all.findIndex((one) => one.port === port) < index);
  if (!second) return [];
  const first = all.find(({ port }) => port === second.port)?.key ?? '';
  const text = `${second.key} and ${first} both have ${second.port}; remove it from one of them`;
  return [{ keys: [first, second.key], text }];
}

// The operator agrees to the terms, never the program.
function checkAcme({ acme, dns_providers: providers, https, tls }: Config): Conflict[] {
  if (acme.directory === '' || tls.certificate_file !== '') return [];
  const conflicts: Conflict[] = [];
  if (!acme.agree_to_terms) {
    const text = `acme.directory is ${acme.directory} but acme.agree_to_terms is false; read the terms of this authority, then set it to true`;
    conflicts.push({ keys: ['acme.directory', 'acme.agree_to_terms'], text });
  }
  if ((acme.eab_key_id === '') !== (acme.eab_hmac_key === '')) {
    const [there, lacks] = acme.eab_key_id === '' ? ['eab_hmac_key', 'eab_key_id'] : ['eab_key_id', 'eab_hmac_key'];
    const text = `acme.${there} is set but acme.${lacks} is empty; an external account needs both`;
    conflicts.push({ keys: ['acme.eab_key_id', 'acme.eab_hmac_key'], text });
  }
  const [wildcard] = acme.names.filter((name) => name.startsWith('*.'));
  if (wildcard !== undefined && acme.challenge !== 'dns-01') {
    const text = `acme.names has ${wildcard} but acme.challenge is "${acme.challenge}"; wildcards can only be validated by "dns-01"`;
    conflicts.push({ keys: ['acme.names', 'acme.challenge'], text });
  }
  if (acme.challenge === 'dns-01' && !Object.hasOwn(providers, acme.dns_provider)) {
    const lacks = acme.dns_provider === '' ? 'is empty' : `is "${acme.dns_provider}", which is not in [dns_providers]`;
    const text = `acme.challenge is "dns-01" but acme.dns_provider ${lacks}; set it to the entry that may change the zones of these names`;
    conflicts.push({ keys: ['acme.challenge', 'acme.dns_provider'], text });
  }
  if (acme.challenge === 'tls-alpn-01' && https.ports.length === 0) {
    const text =
      'acme.challenge is "tls-alpn-01" but https.ports is empty; this challenge needs port 443: open it, or choose "http-01"';
    conflicts.push({ keys: ['acme.challenge', 'https.ports'], text });
  }
  return conflicts;
}

// A port speaks TLS from the first byte or not at all.
function checkSmtpPorts({ submission, receiving }: Config): Conflict[] {
  const { ports, tls_ports: tlsPorts } = submission;
  const plain = [...new Set([...ports, ...receiving.ports])];
  const both = plain.find((port) => port !== 0 && tlsPorts.includes(port));
  if (both === undefined) return [];
  const other = ports.includes(both) ? 'submission.ports' : 'receiving.ports';
  const text = `submission.tls_ports and ${other} both have ${both}; remove it from one of them`;
  return [{ keys: ['submission.tls_ports', other], text }];
}

// Anyone who can read the traffic would learn the key.
function checkInsecureLogin({ submission, smtp, profile }: Config): Conflict[] {
  if (!submission.insecure_login || LOOPBACK.test(smtp.host)) return [];
  // `rasket dev` controls by itself who may reach it, and its keys are for tests.
  if (profile === 'development') return [];
  const keys = ['submission.insecure_login', 'smtp.host'];
  const text = `submission.insecure_login is true but smtp.host is "${smtp.host}"; API keys may be sent unencrypted over loopback only: set smtp.host to "127.0.0.1"`;
  return [{ keys, text }];
}

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/;

// Settings that make experiments easy would be a security hole in a server with real mail.
function checkDevelopment({ profile, development }: Config): Conflict[] {
  if (profile === 'development') return [];
  return (['any_sender', 'any_host'] as const)
    .filter((name) => development[name])
    .map((name) => ({
      keys: [`development.${name}`],
      text: `development.${name} is true, which only \`rasket dev\` allows; remove it for a server with real mail`,
    }));
}

// Work whose lease expires while it is in progress would be offered to a second worker.
function checkLease({ delivery }: Config): Conflict[] {
  const steps = ['connect_timeout_seconds', 'reply_timeout_seconds', 'data_timeout_seconds'] as const;
  const slowest = steps.reduce((sum, step) => sum + delivery[step], 0);
  if (delivery.lease_seconds > slowest) return [];
  const keys = ['delivery.lease_seconds', ...steps.map((step) => `delivery.${step}`)];
  const text = `delivery.lease_seconds is ${delivery.lease_seconds}; it must be more than the connect, reply and data timeouts together (${slowest} seconds)`;
  return [{ keys, text }];
}

function checkRetries({ delivery }: Config): Conflict[] {
  const { retry_minutes: waits, give_up_hours: giveUp } = delivery;
  const conflicts: Conflict[] = [];
  const drop = waits.findIndex((wait, index) => wait < (waits[index - 1] ?? 0));
  if (drop > 0) {
    const text = `delivery.retry_minutes[${drop}] is ${waits[drop]}, less than the ${waits[drop - 1]} before it; each wait must be at least as long as the previous one`;
    conflicts.push({ keys: ['delivery.retry_minutes'], text });
  }
  const total = waits.reduce((sum, wait) => sum + wait, 0);
  if (total > giveUp * 60) {
    const text = `delivery.retry_minutes adds up to ${total} minutes, more than delivery.give_up_hours (${giveUp} hours, ${giveUp * 60} minutes); remove waits from its end, or set delivery.give_up_hours to ${Math.ceil(total / 60)}`;
    conflicts.push({ keys: ['delivery.retry_minutes', 'delivery.give_up_hours'], text });
  }
  return conflicts;
}

function checkModel({ ai }: Config): Conflict[] {
  if (ai.url === '' || ai.model !== '') return [];
  const text = 'ai.url is set but ai.model is empty; set it to the model that the server should use';
  return [{ keys: ['ai.url', 'ai.model'], text }];
}

function checkChoice(
  key: string,
  chosen: string,
  section: string,
  entries: Readonly<Record<string, unknown>>,
): Conflict[] {
  if (Object.hasOwn(entries, chosen)) return [];
  const names = Object.keys(entries);
  const nearest = findNearest(chosen, names);
  const hint = nearest === undefined ? `there are ${names.join(', ')}` : `did you mean ${nearest}?`;
  return [{ keys: [key], text: `${key} is "${chosen}", but there is no [${section}.${chosen}]; ${hint}` }];
}

// A provider that is not in use may be incomplete, as the one that ships with the program is.
function checkDnsProviders({ dns_providers: providers }: Config): Conflict[] {
  return Object.entries(providers).flatMap(([name, settings]) => {
    if (settings.teams.length === 0) return [];
    const needed =
      settings.kind === 'rfc2136'
        ? ([['server'], ['key_name'], ['key_secret', 'key_secret_file']] as const)
        : ([['token', 'token_file']] as const);
    const missing = needed.filter((one) => one.every((field) => settings[field as keyof typeof settings] === ''));
    const texts = missing.map((one) => ({
      keys: one.map((field) => `dns_providers.${name}.${field}`),
      text: `dns_providers.${name} may be used by ${settings.teams.join(', ')} but has no ${one.join(' and no ')}; the kind ${settings.kind} needs it`,
    }));
    const noZones = {
      keys: [`dns_providers.${name}.zones`],
      text: `dns_providers.${name} may be used by ${settings.teams.join(', ')} but has no zones; list the zones that it may change`,
    };
    return [...texts, ...(settings.zones.length === 0 ? [noZones] : [])];
  });
}

/** The value in a region that means direct delivery although the installation has a relay. */
const DIRECT = 'direct';

function checkRelayNames({ delivery, regions, relays }: Config): Conflict[] {
  const conflicts: Conflict[] = [];
  for (const key of ['relay', 'fallback_relay'] as const) {
    if (delivery[key] !== '') conflicts.push(...checkChoice(`delivery.${key}`, delivery[key], 'relays', relays));
  }
  for (const [name, { relay, smarthost }] of Object.entries(regions)) {
    const key = `regions.${name}.relay`;
    if (relay !== '' && relay !== DIRECT) conflicts.push(...checkChoice(key, relay, 'relays', relays));
    if (relay === '' || smarthost === '') continue;
    const keys = [key, `regions.${name}.smarthost`];
    conflicts.push({ keys, text: `${key} and regions.${name}.smarthost are both set; leave one of them empty` });
  }
  if (Object.hasOwn(relays, DIRECT)) {
    const text = `[relays.${DIRECT}] cannot be chosen, because "${DIRECT}" means delivery without a relay; give it another name`;
    conflicts.push({ keys: [`relays.${DIRECT}.host`], text });
  }
  return conflicts;
}

// A relay that is not in use may be incomplete, as the one that ships with the program is.
function checkRelays(config: Config): Conflict[] {
  const used = usedRelays(config);
  const owners = new Map<string, string>();
  return Object.entries(config.relays).flatMap(([name, relay]) => {
    const conflicts: Conflict[] = [];
    const complain = (fields: readonly string[], text: string): void => {
      const keys = fields.map((field) => `relays.${name}.${field}`);
      conflicts.push({ keys, text: `relays.${name} ${text}` });
    };
    for (const domain of relay.domains.map((one) => one.toLowerCase())) {
      const owner = owners.get(domain);
      if (owner === undefined) owners.set(domain, name);
      else complain(['domains'], `and relays.${owner} both have the domain ${domain}; remove it from one of them`);
    }
    if (!used.has(name)) return conflicts;
    if (relay.host === '') complain(['host'], 'has no host, but mail is to be sent through it; set its host');
    const given = (['password', 'password_file', 'token_file'] as const).filter((field) => relay[field] !== '');
    if (given.length > 1) complain(given, `has ${given.join(' and ')}; keep only one of them`);
    if (given.length > 0 && relay.user === '') complain(['user', ...given], `has a ${given[0]} but no user`);
    const [secret] = given;
    const method = relay.authentication;
    if (method === 'none' && relay.user !== '')
      complain(['authentication', 'user'], 'has a user and authentication = "none"; remove one of them');
    if (method !== 'none' && relay.user !== '' && secret === undefined)
      complain(
        ['user', 'password', 'password_file', 'token_file'],
        'has a user but no password, password_file or token_file',
      );
    if (method !== 'none' && method !== 'auto' && relay.user === '')
      complain(['authentication', 'user'], `has authentication = "${method}" but no user`);
    if (method === 'xoauth2' && secret !== undefined && secret !== 'token_file')
      complain(
        ['authentication', secret],
        `has authentication = "xoauth2", which needs a token_file and not a ${secret}`,
      );
    if (secret === 'token_file' && method !== 'xoauth2' && method !== 'auto')
      complain(
        ['authentication', secret],
        `has a token_file, which is for authentication = "xoauth2" and not "${method}"`,
      );
    return conflicts;
  });
}

/**
 * Checks that every provider has members, and that no two have the same one. A provider of the settings may have a
 * member of a shipped one, and takes it over.
 */
function checkProviders({ providers }: Config): Conflict[] {
  const { members } = shippedProviders();
  const owners = new Map<string, string>();
  return Object.entries(providers).flatMap(([name, settings]) => {
    const conflicts: Conflict[] = [];
    if (settings.mx.length === 0 && settings.domains.length === 0) {
      const keys = [`providers.${name}.mx`, `providers.${name}.domains`];
      const known = [...members.keys()].toSorted().join(', ');
      const text = `providers.${name} has no mx and no domains, and it is not a provider that comes with the program (${known}); list the mail servers or the recipient domains that it is for`;
      conflicts.push({ keys, text });
    }
    for (const field of ['mx', 'domains'] as const) {
      const others = members.get(name)?.[field] ?? [];
      for (const member of settings[field]) {
        const place = `${others.includes(member)} ${field} ${member}`;
        const owner = owners.get(place);
        if (owner === undefined) owners.set(place, name);
        else {
          const what = field === 'mx' ? 'mail server' : 'domain';
          const keys = [`providers.${owner}.${field}`, `providers.${name}.${field}`];
          const text = `providers.${name} and providers.${owner} both have the ${what} ${member}; remove it from one of them`;
          conflicts.push({ keys, text });
        }
      }
    }
    return conflicts;
  });
}

/** Checks that pools name sources that exist and can be used, and that it is clear which pool mail leaves by. */
function checkPools({ pools, sources, regions, relays }: Config): Conflict[] {
  const conflicts: Conflict[] = [];
  const byScope = new Map<string, string>();
  for (const [name, pool] of Object.entries(pools)) {
    const members = pool.sources.map((text) => readMember(text)?.name ?? '');
    const complain = (field: string, text: string): void =>
      void conflicts.push({ keys: [`pools.${name}.${field}`], text: `pools.${name}.${field} ${text}` });
    for (const member of new Set(members)) {
      if (!Object.hasOwn(sources, member))
        complain('sources', `names ${member}, and there is no section [sources.${member}]`);
      if (members.indexOf(member) !== members.lastIndexOf(member)) complain('sources', `names ${member} twice`);
    }
    for (const region of pool.regions)
      if (!Object.hasOwn(regions, region))
        complain('regions', `names ${region}, and there is no section [regions.${region}]`);
    if (members.length === 0 || isForBroadcastsOnly(pool)) continue;
    for (const scope of listScopes(pool)) {
      const owner = byScope.get(scope);
      if (owner === undefined) byScope.set(scope, name);
      else if (owner !== name) {
        const keys = [`pools.${owner}`, `pools.${name}`];
        const text = `pools.${name} and pools.${owner} both take ${scope}; give one of them other regions, domains or streams`;
        conflicts.push({ keys, text });
      }
    }
  }
  const used = usedSources({ pools });
  for (const [name, source] of Object.entries(sources)) {
    if (!used.has(name)) continue;
    const keys = (fields: readonly string[]): string[] => fields.map((field) => `sources.${name}.${field}`);
    if (source.relay !== '') conflicts.push(...checkChoice(`sources.${name}.relay`, source.relay, 'relays', relays));
    const others = (['source_v4', 'source_v6', 'helo_name', 'socks5'] as const).filter((field) => source[field] !== '');
    if (source.relay !== '' && others.length > 0) {
      const text = `sources.${name} has a relay, which has its own name and connections; remove ${others.join(' and ')}`;
      conflicts.push({ keys: keys(['relay', ...others]), text });
    }
    if (source.relay === '' && source.source_v4 + source.source_v6 === '' && source.socks5 === '') {
      const text = `sources.${name} has no source_v4, source_v6, socks5 or relay; set the address that its mail leaves from`;
      conflicts.push({ keys: keys(['source_v4', 'source_v6']), text });
    }
    const { socks5_password: password, socks5_password_file: file, socks5_user: user } = source;
    if (password !== '' && file !== '') {
      const text = `sources.${name} has socks5_password and socks5_password_file; keep only one of them`;
      conflicts.push({ keys: keys(['socks5_password', 'socks5_password_file']), text });
    }
    if ((user === '') !== (password + file === '')) {
      const text = `sources.${name} needs both socks5_user and socks5_password or socks5_password_file, or none of them`;
      conflicts.push({ keys: keys(['socks5_user', 'socks5_password', 'socks5_password_file']), text });
    }
  }
  return conflicts;
}

/** Describes each kind of mail that a pool takes by itself, in words that two pools have in common if they conflict. */
function listScopes({ regions, domains, streams }: PoolSettings): string[] {
  const kinds = streams.length === 0 || streams.length === 2 ? [''] : streams.map((stream) => `${stream} `);
  const where = regions.length === 0 ? [''] : regions.map((region) => ` in the region ${region}`);
  const whose = domains.length === 0 ? [''] : domains.map((domain) => ` of ${domain.toLowerCase()}`);
  return kinds.flatMap((kind) => whose.flatMap((owner) => where.map((place) => `${kind}mail${owner}${place}`)));
}

/** Reports whether a pool takes no mail but that of broadcasts that choose it. */
export const isForBroadcastsOnly = ({ broadcasts, regions, domains, streams }: PoolSettings): boolean =>
  broadcasts && regions.length + domains.length + streams.length === 0;

/** Names the pools that broadcasts may choose. */
export const listBroadcastPools = ({ pools }: Pick<Config, 'pools'>): string[] =>
  Object.entries(pools).flatMap(([name, { broadcasts, sources }]) => (broadcasts && sources.length > 0 ? [name] : []));

/** Names the sources that a pool contains. */
export const usedSources = ({ pools }: Pick<Config, 'pools'>): Set<string> =>
  new Set(Object.values(pools).flatMap((pool) => pool.sources.map((text) => readMember(text)?.name ?? '')));

/** Names the relays that mail may go through. */
export function usedRelays(config: Config): Set<string> {
  const { delivery, regions, relays, sources } = config;
  const inPools = [...usedSources(config)].map((name) => sources[name]?.relay ?? '');
  const chosen = [
    delivery.relay,
    delivery.fallback_relay,
    ...Object.values(regions).map(({ relay }) => relay),
    ...inPools,
  ];
  const byDomain = Object.entries(relays).flatMap(([name, { domains }]) => (domains.length > 0 ? [name] : []));
  return new Set([...chosen.filter((name) => name !== '' && name !== DIRECT), ...byDomain]);
}

function checkPlanNames({ plans }: Config): Conflict[] {
  const firstWith = new Map<string, string>();
  const conflicts: Conflict[] = [];
  for (const [plan, { name }] of Object.entries(plans)) {
    const first = firstWith.get(name);
    if (first === undefined) firstWith.set(name, plan);
    else {
      const keys = [`plans.${first}.name`, `plans.${plan}.name`];
      conflicts.push({
        keys,
        text: `plans.${plan}.name is "${name}" like plans.${first}.name; give each plan a different name`,
      });
    }
  }
  return conflicts;
}

// Either setting alone would be a price that is never charged, or emails beyond the included ones that are free.
function checkOverage({ plans }: Config): Conflict[] {
  return Object.entries(plans).flatMap(([plan, { overage_emails: emails, overage_per_1000_cents: price }]) => {
    if (emails > 0 === (price !== null)) return [];
    const emailsKey = `plans.${plan}.overage_emails`;
    const priceKey = `plans.${plan}.overage_per_1000_cents`;
    const text =
      price === null
        ? `${emailsKey} is ${emails} but ${priceKey} is 0; give the price of 1,000 of them, or raise plans.${plan}.included_emails`
        : `${priceKey} is ${price} but ${emailsKey} is 0; set how many emails a month may be sent beyond the included ones`;
    return [{ keys: [emailsKey, priceKey], text }];
  });
}

const KEY = 'instance.host';
const EXAMPLE = 'mail.example.com';

/** Names that do not exist on the public internet and never will (RFC 6761 §6, RFC 2606 §2). */
const NOWHERE = /(^|\.)(localhost|invalid|example)$/i;
/** Names that a closed network may assign; a name without a dot is not a domain (RFC 6762 §3, RFC 8375 §3). */
const INSIDE = /^[^.]+$|\.(local|internal|home\.arpa)$/i;

interface SettingOrigin {
  readonly source: Source;
  readonly file?: string | undefined;
}

/**
 * Explains why a server cannot send mail under its configured name, with the line to change. Mail that stays on this
 * machine needs no name, and if mail may go to private addresses, a name of that network may be right.
 */
export function findNameFault(config: Config, { source, file }: SettingOrigin): string | undefined {
  const { host } = config.instance;
  const isClosed = config.network.mail_allow_private.length > 0;
  if (config.delivery.capture || !(NOWHERE.test(host) || (INSIDE.test(host) && !isClosed))) return undefined;
  const found = `${KEY} is "${host}"${source === 'default' ? ', the default' : ''}, which other mail servers cannot look up`;
  const why = 'mail from it would be refused, and the SPF and MX records of every domain would name it';
  return `${found}: ${why}. Give this machine's public name, such as ${EXAMPLE}: ${lineToWrite(source, file)}`;
}

function lineToWrite(source: Source, file: string | undefined): string {
  if (source === 'env') return `${variableName(KEY)}=${EXAMPLE} in the environment`;
  const line = `host = "${EXAMPLE}" under [instance] in`;
  if (file !== undefined) return `${line} ${file}`;
  return `${line} a file named with --config or RASKET_CONFIG, or ${variableName(KEY)}=${EXAMPLE} in the environment`;
}

/**
 * Warns about a resolver of DNSSEC that is reached through public networks, where others could forge the flag that it
 * sets; returns undefined for one on this machine or at a private address.
 */
export function warnOfDnssecPath({ dns: { dnssec_resolver: server } }: Pick<Config, 'dns'>): string | undefined {
  if (server === '' || ipaddr.process(readServerAddress(server)).range() !== 'unicast') return undefined;
  return `dns.dnssec_resolver (${server}) is neither on this machine nor at a private address; whoever can change packets on the way to it can switch DANE off or forge it. Run a resolver on this machine, such as unbound at 127.0.0.1`;
}
