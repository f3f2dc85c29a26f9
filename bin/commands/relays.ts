import { clean, type Column } from '../../cli/output/index.ts';
import { usedRelays, type Config, type RelaySettings } from '../../src/platform/config/index.ts';
import { readConfig, type DataOptions } from './open.ts';
import { printRows } from './print-rows.ts';

interface Options extends DataOptions {
  json?: boolean;
  wide?: boolean;
}

interface RelayRow {
  name: string;
  host: string;
  port: number;
  tls: string;
  authentication: string;
  user: string | null;
  used_for: string[];
}

/** Lists the relays of the settings, and which mail goes through each. */
export async function printRelays(options: Options): Promise<void> {
  const config = readConfig(options);
  const used = usedRelays(config);
  const rows = Object.entries(config.relays)
    .filter(([name, { host }]) => used.has(name) || host !== '')
    .map(([name, settings]) => describeRelay(config, name, settings));
  printRows(rows, () => COLUMNS, {
    ...options,
    none: 'There are no relays: mail is sent directly to the recipients’ servers. See docs/relays.md to add one.',
  });
}

const COLUMNS: readonly Column<RelayRow>[] = [
  { title: 'NAME', value: ({ name }) => name },
  { title: 'SERVER', value: ({ host, port }) => `${host}:${port}` },
  { title: 'TLS', value: ({ tls }) => tls },
  {
    title: 'LOGIN',
    value: ({ authentication, user }) => (user === null ? 'none' : `${authentication} as ${clean(user)}`),
  },
  { title: 'USED FOR', value: ({ used_for: usedFor }) => (usedFor.length === 0 ? 'nothing' : usedFor.join(', ')) },
];

function describeRelay({ delivery, regions }: Config, name: string, settings: RelaySettings): RelayRow {
  const { host, port, tls, authentication, user, domains } = settings;
  const hasLogin = user !== '' && authentication !== 'none';
  return {
    name,
    host,
    port,
    tls,
    authentication: hasLogin ? authentication : 'none',
    user: hasLogin ? user : null,
    used_for: [
      ...(delivery.relay === name ? ['all mail'] : []),
      ...Object.entries(regions).flatMap(([region, { relay }]) => (relay === name ? [`region ${region}`] : [])),
      ...domains,
      ...(delivery.fallback_relay === name ? ['fallback'] : []),
    ],
  };
}
