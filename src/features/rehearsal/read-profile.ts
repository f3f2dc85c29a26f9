import { parse, TomlError } from 'smol-toml';
import { findNearest } from '../../contract/index.ts';
import { namesIn, readProgramText } from '../../program-files/index.ts';
import { FAULT_KINDS, STAGES, TLS_KINDS, type Behaviour, type Profile } from './behaviour.ts';

/** Thrown for a profile that cannot be used; `faults` has one line for each thing to correct. */
export class ProfileFault extends Error {
  override readonly name = 'ProfileFault';
  readonly faults: readonly string[];

  constructor(profile: string, faults: readonly string[]) {
    super(
      `The profile ${profile} has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}: ${faults.join('; ')}`,
    );
    this.faults = faults;
  }
}

const FOLDER = 'config/rehearsals';
/** The file with the behaviour of well-known providers, on which profiles build. */
const SHARED = 'providers.toml';

export const listProfileNames = (): string[] =>
  namesIn('config/rehearsals')
    .filter((file) => file.endsWith('.toml') && file !== SHARED)
    .map((file) => file.slice(0, -'.toml'.length))
    .toSorted();

/** Loads a profile that ships with the program; throws a ProfileFault for an unknown name. */
export function loadProfile(name: string): Profile {
  const known = listProfileNames();
  if (!known.includes(name)) throw new ProfileFault(name, [unknown(name, known, 'is not a profile')]);
  return readProfile(name, readProgramText(`${FOLDER}/${name}.toml`));
}

/** Reads a profile in TOML. Providers that it only names, or changes in part, come from the shared file. */
export function readProfile(name: string, toml: string): Profile {
  return checkProfile(name, parseToml(name, toml), sharedProviders());
}

let shared: Readonly<Record<string, Table>> | undefined;

/** The behaviours that all profiles share, read once. */
function sharedProviders(): Readonly<Record<string, Table>> {
  if (shared) return shared;
  const { providers } = parseToml(SHARED, readProgramText(`${FOLDER}/${SHARED}`)) as {
    providers: Record<string, Table>;
  };
  shared = providers;
  return shared;
}

function parseToml(name: string, toml: string): Table {
  try {
    return parse(toml) as Table;
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [first = ''] = error.message.split('\n');
    throw new ProfileFault(name, [`line ${error.line}: ${first.replace('Invalid TOML document: ', '')}`]);
  }
}

type Table = Record<string, unknown>;

/** Checks a profile and completes its providers from others by the same name; throws a ProfileFault with every fault. */
export function checkProfile(name: string, raw: Table, base: Readonly<Record<string, unknown>> = {}): Profile {
  const faults: string[] = [];
  profileForm(raw, '', faults);
  const own = isTable(raw['providers']) ? raw['providers'] : {};
  const domains = Array.isArray(raw['domains']) ? (raw['domains'] as Table[]) : [];
  const used = new Set([...domains.map((domain) => String(domain['provider'])), ...Object.keys(own)]);
  const providers: Record<string, Table> = {};
  for (const provider of used) {
    const found = base[provider];
    const part = own[provider];
    if (isTable(part) || isTable(found))
      providers[provider] = merge(isTable(found) ? found : {}, isTable(part) ? part : {});
  }
  const known = [...new Set([...Object.keys(base), ...Object.keys(own)])];
  for (const [at, domain] of domains.entries()) {
    const provider = String(domain['provider']);
    const where = `domains[${at}]`;
    if (domain['provider'] !== undefined && !known.includes(provider))
      faults.push(`${where}.provider: ${unknown(provider, known, 'is not a provider')}`);
    else if (domain['hosts'] === undefined && providers[provider]?.['hosts'] === undefined)
      faults.push(`${where}.hosts: name the MX hosts of the domain, because the provider ${provider} has none`);
    const isMany = Number(domain['count'] ?? 1) > 1;
    if (isMany && !String(domain['name']).includes('{n}'))
      faults.push(
        `${where}.name: write {n} where the number goes, because there are ${String(domain['count'])} domains`,
      );
  }
  // A wrong part has been reported already.
  if (faults.length === 0)
    for (const [provider, found] of Object.entries(providers)) completeForm(found, `providers.${provider}`, faults);
  if (raw['domains'] !== undefined && domains.length === 0) faults.push('domains: name at least one domain');
  if (faults.length > 0) throw new ProfileFault(name, faults);
  return { name, summary: String(raw['summary']), providers, domains } as unknown as Profile;
}

/** Checks a change of a behaviour at run time. */
export function checkBehaviour(
  provider: string,
  change: { [Key in keyof Behaviour]: Behaviour[Key] | undefined },
): void {
  const faults: string[] = [];
  const set = Object.entries(change).filter(([, value]) => value !== undefined);
  completeForm(Object.fromEntries(set), provider, faults);
  if (faults.length > 0) throw new ProfileFault(provider, faults);
}

/** Tables are merged; anything else of `over` replaces what was there, and `false` removes it. */
function merge(base: Table, over: Table): Table {
  const merged: Table = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    if (value === false) delete merged[key];
    else merged[key] = isTable(value) && isTable(below) ? merge(below, value) : value;
  }
  return merged;
}

const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function unknown(name: string, known: readonly string[], what: string): string {
  const nearest = findNearest(name, known);
  return `"${name}" ${what}; ${nearest === undefined ? `use one of ${known.join(', ')}` : `did you mean "${nearest}"?`}`;
}

/** Adds a line for each fault of a value. */
type Form = (value: unknown, at: string, faults: string[]) => void;

const number =
  (min: number, max: number, { whole = false } = {}): Form =>
  (value, at, faults) => {
    const isRight = typeof value === 'number' && value >= min && value <= max && (!whole || Number.isInteger(value));
    if (!isRight)
      faults.push(`${at}: must be a ${whole ? 'whole ' : ''}number from ${min} to ${max}; got ${shown(value)}`);
  };

const text: Form = (value, at, faults) => {
  if (typeof value !== 'string' || value === '') faults.push(`${at}: must be a text; got ${shown(value)}`);
};

const flag: Form = (value, at, faults) => {
  if (typeof value !== 'boolean') faults.push(`${at}: must be true or false; got ${shown(value)}`);
};

const buildChoice =
  (...known: readonly string[]): Form =>
  (value, at, faults) => {
    if (!known.includes(value as string)) faults.push(`${at}: must be one of ${known.join(', ')}; got ${shown(value)}`);
  };

const buildList =
  (form: Form): Form =>
  (value, at, faults) => {
    if (!Array.isArray(value)) return void faults.push(`${at}: must be a list; got ${shown(value)}`);
    for (const [index, item] of value.entries()) form(item, `${at}[${index}]`, faults);
  };

const buildTable =
  (form: Form): Form =>
  (value, at, faults) => {
    if (!isTable(value)) return void faults.push(`${at}: must be a table; got ${shown(value)}`);
    for (const [key, item] of Object.entries(value)) form(item, `${at}.${key}`, faults);
  };

/** A table with these keys; names that end in `!` are required. */
const table = (fields: Readonly<Record<string, Form>>): Form => {
  const forms = new Map(Object.entries(fields).map(([key, form]) => [key.replace('!', ''), form]));
  const required = Object.keys(fields).flatMap((key) => (key.endsWith('!') ? [key.slice(0, -1)] : []));
  return (value, at, faults) => {
    if (!isTable(value)) return void faults.push(`${at || 'the file'}: must be a table; got ${shown(value)}`);
    const inside = (key: string): string => (at === '' ? key : `${at}.${key}`);
    for (const key of required) if (value[key] === undefined) faults.push(`${inside(key)}: is missing`);
    for (const [key, item] of Object.entries(value)) {
      const form = forms.get(key);
      if (form) form(item, inside(key), faults);
      else faults.push(`${inside(key)}: ${unknown(key, [...forms.keys()], 'is not a key')}`);
    }
  };
};

/** `false` in a profile removes what the shared provider has. */
const removable =
  (form: Form): Form =>
  (value, at, faults) => {
    if (value !== false) form(value, at, faults);
  };

const shown = (value: unknown): string => JSON.stringify(value)?.slice(0, 60) ?? 'nothing';

/** A reply of one or several lines, which all have one code of refusal: `421-4.7.0 a` and `421 4.7.0 b`. */
const reply: Form = (value, at, faults) => {
  const lines = typeof value === 'string' ? value.trimEnd().split('\n') : [];
  const isRight =
    lines.length > 0 && lines.every((line, i) => isReplyLine(line, i === lines.length - 1, lines[0] ?? ''));
  if (!isRight) faults.push(`${at}: must be an SMTP reply such as "451 4.7.1 Try again later"; got ${shown(value)}`);
};

const isReplyLine = (line: string, isLast: boolean, first: string): boolean =>
  /^[45]\d\d[ -]\S/.test(line) && line.slice(0, 3) === first.slice(0, 3) && line[3] === (isLast ? ' ' : '-');

const minutesForm: Form = (value, at, faults) => {
  const isRight =
    Array.isArray(value) &&
    value.length === 2 &&
    value.every((one) => typeof one === 'number' && one >= 0) &&
    value[0] <= value[1];
  if (!isRight)
    faults.push(`${at}: must be the shortest and the longest time in minutes, such as [1, 10]; got ${shown(value)}`);
};

const MINUTES = number(0, 100_000);
const COUNT = number(1, 10_000_000, { whole: true });
const some = { share: number(0, 1), local_parts: buildList(text) };
const period = { from_minute: MINUTES, to_minute: MINUTES, every: COUNT };
const delay = number(0, 3_600_000);

/**
 * The behaviour of a provider. In a profile, a part may leave out what the shared provider has, or be `false` to remove
 * it.
 */
function behaviourForm(isComplete: boolean): Form {
  const part = (fields: Readonly<Record<string, Form>>, needed: readonly string[]): Form => {
    if (!isComplete) return removable(table(fields));
    return table(
      Object.fromEntries(Object.entries(fields).map(([key, form]) => [needed.includes(key) ? `${key}!` : key, form])),
    );
  };
  return table({
    hosts: buildList(text),
    addresses: number(1, 200, { whole: true }),
    greeting: text,
    extensions: buildList(text),
    size_bytes: number(1, 1_000_000_000, { whole: true }),
    tls: buildChoice(...TLS_KINDS),
    delays: table({
      greeting_ms: delay,
      ehlo_ms: delay,
      mail_ms: delay,
      rcpt_ms: delay,
      data_ms: delay,
      dot_ms: delay,
    }),
    connections: part({ max: number(0, 10_000, { whole: true }), reply }, ['max', 'reply']),
    messages_per_connection: part({ max: COUNT, reply }, ['max', 'reply']),
    rates: buildList(
      table({
        'of!': buildChoice('messages', 'connections'),
        'max!': COUNT,
        per_seconds: number(1, 864_000),
        stage: buildChoice('mail', 'rcpt', 'dot'),
        for_minutes: MINUTES,
        'reply!': reply,
      }),
    ),
    greylist: part({ seconds: number(0, 864_000), reply }, ['seconds', 'reply']),
    unknown: part({ ...some, reply }, ['reply']),
    full: part({ ...some, reply }, ['reply']),
    tempfail: buildList(table({ ...period, stage: buildChoice(...STAGES), 'reply!': reply })),
    faults: buildList(table({ ...period, 'kind!': buildChoice(...FAULT_KINDS) })),
    block: buildList(
      table({
        unknown: COUNT,
        complaints: COUNT,
        within_minutes: MINUTES,
        'for_minutes!': MINUTES,
        stage: buildChoice('greeting', 'mail'),
        'reply!': reply,
      }),
    ),
    bounce_later: part({ ...some, after_minutes: minutesForm, status: text, diagnostic: text }, [
      'after_minutes',
      'status',
      'diagnostic',
    ]),
    complain_later: part({ ...some, after_minutes: minutesForm }, ['after_minutes']),
  });
}

const partForm = behaviourForm(false);
const completeForm = behaviourForm(true);

const profileForm = table({
  'summary!': text,
  providers: buildTable(partForm),
  'domains!': buildList(
    table({
      'name!': text,
      'provider!': text,
      'share!': number(0, 1_000_000),
      count: number(1, 1000, { whole: true }),
      hosts: buildList(text),
      separate: flag,
      dns_fault: table({ ...period, 'answer!': buildChoice('SERVFAIL', 'NXDOMAIN') }),
    }),
  ),
});
