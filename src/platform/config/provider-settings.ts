import { parse } from 'smol-toml';
import { readProgramText } from '../../program-files/index.ts';
import { integer, integerOrNone, list, oneOf, textOrEmpty, type Kind } from './kind.ts';
import { isHostName } from './network-kinds.ts';

const connections = { max: 10_000, unit: 'connections; 0 for no limit of its own' };

/** The settings of a mailbox provider: how its domains are recognized, and its limits. */
export const providerFields = {
  title: textOrEmpty('a name of 1 to 64 characters on one line', (value) => /^[^\p{Cc}]{1,64}$/u.test(value)),
  mx: list(
    normalized('a host name such as mx.example.com, or a suffix with a leading dot such as .example.com', (value) =>
      isHostName(value.replace(/^\./, '')),
    ),
    { min: 0, max: 100 },
  ),
  domains: list(normalized('a domain such as example.com', isHostName), { min: 0, max: 1000 }),
  connections: integerOrNone(connections),
  connections_per_site: integer({ min: 1, max: 10_000, unit: 'connections' }),
  messages_per_connection: integer({ min: 1, max: 10_000, unit: 'messages' }),
  messages_per_minute: integerOrNone({ max: 1_000_000, unit: 'messages a minute; 0 for no limit' }),
  message_burst: integer({ min: 1, max: 10_000, unit: 'messages' }),
  connections_per_minute: integerOrNone({ max: 100_000, unit: 'connections a minute; 0 for no limit' }),
  connection_burst: integer({ min: 1, max: 10_000, unit: 'connections' }),
  idle_seconds: integer({ min: 0, max: 300, unit: 'seconds' }),
  address_family: oneOf(['auto', 'ipv4', 'ipv6']),
  tls: oneOf(['opportunistic', 'required']),
  warm_up_percent: integer({ min: 1, max: 1000, unit: 'per cent of warm_up.daily' }),
};

type Field = keyof typeof providerFields;

/** Returns a name of a host in lower case and without the dot at its end, which DNS tools print. */
export const normalizeHost = (host: string): string => host.toLowerCase().replace(/\.$/, '');

function normalized(expects: string, fits: (value: string) => boolean): Kind<string> {
  return {
    expects,
    fromText: (line) => line,
    read(raw) {
      const value = typeof raw === 'string' ? normalizeHost(raw) : '';
      return fits(value) ? { value } : { unfit: [{ at: '', expects, got: raw }] };
    },
    toToml: (value) => value,
  };
}

const DELIVERY_DEFAULTS = {
  connections_per_site: 'delivery.max_connections_per_destination',
  messages_per_connection: 'delivery.max_messages_per_connection',
  idle_seconds: 'delivery.idle_seconds',
} as const satisfies Partial<Record<Field, string>>;

export const PROVIDERS_FILE = 'config/providers.toml';

type ProviderFile = {
  defaults?: Record<string, unknown>;
  providers?: Record<string, { mx?: readonly string[]; domains?: readonly string[] }>;
};

export interface ShippedProviders {
  /** The settings that the file has, such as `providers.google.connections`. */
  keys: ReadonlySet<string>;
  /** The limits of everyone else that no setting has. */
  defaults: ReadonlyMap<string, unknown>;
  /** The mail servers and recipient domains of each provider, as they are before settings change them. */
  members: ReadonlyMap<string, { mx: readonly string[]; domains: readonly string[] }>;
}

let shipped: ShippedProviders | undefined;

export function shippedProviders(): ShippedProviders {
  shipped ??= readShippedProviders(readProgramText(PROVIDERS_FILE));
  return shipped;
}

/** Reads what is not a setting. A fault in the file is a bug of the program, so it is thrown. */
export function readShippedProviders(toml: string): ShippedProviders {
  const { defaults = {}, providers = {} } = parse(toml) as unknown as ProviderFile;
  const members = Object.entries(providers).map(
    ([name, { mx = [], domains = [] }]) =>
      [name, { mx: mx.map(normalizeHost), domains: domains.map(normalizeHost) }] as const,
  );
  const keys = Object.entries(providers).flatMap(([name, settings]) =>
    Object.keys(settings).map((field) => `providers.${name}.${field}`),
  );
  return { keys: new Set(keys), defaults: readDefaults(defaults), members: new Map(members) };
}

function readDefaults(defaults: Readonly<Record<string, unknown>>): ReadonlyMap<Field, unknown> {
  const values = new Map<Field, unknown>([
    ['mx', []],
    ['domains', []],
    ['connections', null],
    ['messages_per_minute', null],
    ['connections_per_minute', null],
  ]);
  for (const [name, raw] of Object.entries(defaults)) {
    const fault = (why: string): Error => new Error(`${PROVIDERS_FILE}: defaults.${name} ${why}`);
    if (!Object.hasOwn(providerFields, name) || ['title', 'mx', 'domains'].includes(name)) throw fault('is no limit');
    const field = name as Field;
    const setting = deliverySetting(field);
    if (setting !== undefined) throw fault(`repeats the setting ${setting}; remove it`);
    const kind: Kind<unknown> = providerFields[field];
    const parsed = kind.read(raw);
    if (!('value' in parsed)) throw fault(`must be ${kind.expects}`);
    values.set(field, parsed.value);
  }
  for (const name of ['message_burst', 'connection_burst', 'address_family', 'tls'] as const) {
    if (!values.has(name)) throw new Error(`${PROVIDERS_FILE}: defaults.${name} is missing`);
  }
  return values;
}

/** Returns the setting of [delivery] whose value providers have that leave this limit out. */
export const deliverySetting = (field: string): string | undefined =>
  field in DELIVERY_DEFAULTS ? DELIVERY_DEFAULTS[field as keyof typeof DELIVERY_DEFAULTS] : undefined;
