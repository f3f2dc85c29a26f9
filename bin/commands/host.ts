import { cleanJson, formatTable, openTerminal, type Column, type Terminal } from '../../cli/output/index.ts';
import { listHostRecords, type HostRecord } from '../../src/mail/domains/index.ts';
import { isoTime } from '../../src/platform/clock.ts';
import type { Store } from '../../src/platform/store.ts';
import { finishHostChange, readHostChange, readOwnHosts, type HostChange } from '../../src/tenancy/instance/index.ts';
import { OperatorFault } from '../explain.ts';
import { runAsFolderOwner } from '../installation.ts';
import { dataFolder, readSettings, withStore, type DataOptions } from './open.ts';

interface Options extends DataOptions {
  yes?: boolean;
  json?: boolean;
}

/** Tells whether DNS has a record, and whether with the value that is wanted. */
export type RecordState = 'published' | 'missing' | 'wrong' | 'unknown';

/** A record of the host name or of a domain that has to be in DNS. */
export interface PlannedRecord {
  /** The slug of the team and the domain; null for a record of the host name. */
  team: string | null;
  domain: string | null;
  type: string;
  name: string;
  value: string;
  state: RecordState;
}

export const RECORD_COLUMNS: readonly Column<PlannedRecord>[] = [
  { title: 'TEAM', value: ({ team }) => team ?? '' },
  { title: 'DOMAIN', value: ({ domain }) => domain ?? '' },
  { title: 'TYPE', value: ({ type }) => type },
  { title: 'NAME', value: ({ name }) => name },
  { title: 'VALUE', value: ({ value }) => value },
  { title: 'IN DNS', value: ({ state }) => state },
];

interface HostState {
  host: string;
  other_host: string | null;
  ends_at: string | null;
  records: PlannedRecord[];
  /** Records of domains that no team has proven to be its own; they do not keep a change from being finished. */
  unheld_records: PlannedRecord[];
}

async function readHostState(store: Store): Promise<HostState & { change: HostChange | undefined }> {
  const change = await readHostChange(store.db);
  const { host, other, endsAt } = await readOwnHosts(store, store.db);
  const all = change === undefined ? [] : await listHostRecords(store);
  const planAgain = ({ team, domain, record }: HostRecord): PlannedRecord => ({
    team,
    domain,
    type: record.type,
    name: record.name,
    value: record.priority === null ? record.value : `${record.priority} ${record.value}`,
    state: 'wrong',
  });
  const named = all.filter(({ record }) => record.named_host !== null);
  const records = other === undefined ? all.filter(({ record }) => record.status !== 'verified') : named;
  return {
    host,
    other_host: other ?? null,
    ends_at: other === undefined ? null : isoTime(endsAt),
    records: records.filter(({ isHeld }) => isHeld).map(planAgain),
    unheld_records: named.filter(({ isHeld }) => !isHeld).map(planAgain),
    change,
  };
}

/** Shows the host name, and during a change what still contains the other name. */
export async function showHost(options: Options): Promise<void> {
  const dataDir = dataFolder(options);
  const { config } = readSettings(options);
  const { change, ...state } = await runAsFolderOwner(dataDir, () => withStore(config, dataDir, readHostState));
  if (options.json) return console.log(cleanJson(state));
  const terminal = openTerminal({ out: process.stdout, err: process.stderr, env: process.env });
  terminal.printText(`The host name is ${state.host}.`);
  if (change === undefined) return;
  if (state.other_host === null) {
    terminal.printText(
      `It was changed from ${change.from} to ${change.to} on ${isoTime(change.changedAt).slice(0, 10)}, and ${change.from} no longer counts.`,
    );
  } else {
    const restart = state.host === change.to ? '' : ' The settings of this machine still have the former name.';
    terminal.printText(
      `It is being changed from ${change.from} to ${change.to}. Both names count until ${state.ends_at?.slice(0, 10)}.${restart}`,
    );
  }
  // The former settings want the former name, which is not what is left to do.
  if (state.other_host === null || state.host === change.to) printRemaining(state);
}

function printRemaining({ records, unheld_records: unheld, other_host: other }: HostState): void {
  const terminal = openTerminal({ out: process.stdout, err: process.stderr, env: process.env });
  printOfDomains(terminal, records, other);
  if (unheld.length === 0) return;
  terminal.printText(`\n${UNHELD_HEADING}`);
  printTable(terminal, unheld);
}

/** Introduces records of domains that are not verified, or that another team holds. */
export const UNHELD_HEADING =
  'Domains that are not verified, which lose nothing by the change and need these records only if they are to be used:';

const printTable = (terminal: Terminal, records: readonly PlannedRecord[]): void =>
  terminal.print(
    formatTable(
      terminal,
      records,
      RECORD_COLUMNS.filter(({ title }) => title !== 'IN DNS'),
      { isWide: true, isOneLine: true },
    ),
  );

function printOfDomains(terminal: Terminal, records: readonly PlannedRecord[], other: string | null): void {
  if (records.length === 0)
    return terminal.printText(
      other === null
        ? 'All records that contain the host name are verified.'
        : `No record of a domain contains ${other}.`,
    );
  const domains = new Set(records.map(({ team, domain }) => `${team} ${domain}`)).size;
  const what = `${records.length === 1 ? '1 record' : `${records.length} records`} of ${domains === 1 ? '1 domain' : `${domains} domains`}`;
  const verb = records.length === 1;
  terminal.printText(
    other === null
      ? `${what} ${verb ? 'is' : 'are'} not verified; publish:`
      : `${what} ${verb ? 'contains' : 'contain'} ${other}, as far as DNS was checked in the last half hour; publish in ${verb ? 'its' : 'their'} place:`,
  );
  printTable(terminal, records);
}

/** Ends the grace period, after which the former name no longer counts. */
export async function finishHost(options: Options): Promise<void> {
  const dataDir = dataFolder(options);
  const { config } = readSettings(options);
  const finish = async (store: Store): Promise<HostState & { change: HostChange | undefined }> => {
    const before = await readHostState(store);
    const { change, host, records, other_host: other } = before;
    if (change === undefined || other === null)
      throw new OperatorFault('the host name is not being changed; nothing was changed');
    if (host !== change.to)
      throw new OperatorFault(
        `the settings of this machine still have ${host}; change them first with: rasket host change ${change.to}`,
      );
    if (records.length > 0 && options.yes !== true)
      throw new OperatorFault(
        `${records.length} records of domains still contain ${other} (see: rasket host), and their domains would lose their verification within ${config.domains.grace_hours} hours; to finish in any case, add --yes`,
      );
    await finishHostChange(store);
    return before;
  };
  const { change } = await runAsFolderOwner(dataDir, () =>
    withStore(config, dataDir, finish, { audit: { action: 'instance.host_change_finished' } }),
  );
  if (options.json) return console.log(cleanJson({ host: change?.to, former_host: change?.from }));
  openTerminal({ out: process.stdout, err: process.stderr, env: process.env }).printText(
    `Only ${change?.to} counts now. The certificate is ordered again without ${change?.from}, and policies of MTA-STS no longer list it: publish their new ids. Keep the address record of ${change?.from} for another week, for DNS caches.`,
  );
}
