import { accessSync, constants } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import { cleanJson, formatTable, openTerminal } from '../../cli/output/index.ts';
import { asksForCertificates } from '../../src/features/installation/index.ts';
import { checkRecords } from '../../src/mail/domain-dns/index.ts';
import { findDomain, listHostRecords, valueWithHost, type HostRecord } from '../../src/mail/domains/index.ts';
import { closeNet, withNet } from '../../src/open-world.ts';
import { isoTime } from '../../src/platform/clock.ts';
import type { Config } from '../../src/platform/config/index.ts';
import { eachLimit } from '../../src/platform/limits/index.ts';
import { examineCertificate, locateCertificateFiles } from '../../src/platform/server-tls.ts';
import type { Store } from '../../src/platform/store.ts';
import type { World } from '../../src/platform/world.ts';
import { beginHostChange, readHostChange, type HostChange } from '../../src/tenancy/instance/index.ts';
import { OperatorFault } from '../explain.ts';
import { findServiceSettings, runAsFolderOwner } from '../installation.ts';
import { mustBeOurs, parseConfig, readIfPresent, replaceFile } from '../setup/plan.ts';
import { settingLine, toSection, withSettings, type Edit } from '../setup/settings-text.ts';
import { createLookUps, toRecordType } from '../setup/this-machine.ts';
import { dataFolder, mustBeInitialised, readSettings, withStore, type DataOptions } from './open.ts';
import { RECORD_COLUMNS, UNHELD_HEADING, type PlannedRecord, type RecordState } from './host.ts';

interface Options extends DataOptions {
  dryRun?: boolean;
  yes?: boolean;
  json?: boolean;
}

interface HostPlan {
  from: string;
  to: string;
  grace_days: number;
  host_records: PlannedRecord[];
  domain_records: PlannedRecord[];
  /** Records of domains that no team has proven to be its own. */
  unheld_records: PlannedRecord[];
  certificate: string;
  settings: Edit[];
  /** Settings that contain the present name and are not changed. */
  other_settings: string[];
}

const DOMAINS_AT_A_TIME = 8;

/** Says what has to be published for another host name, and changes it unless it is a dry run. */
export async function changeHost(given: string, options: Options): Promise<void> {
  const dataDir = dataFolder(options);
  mustBeInitialised(dataDir);
  const { config, file, sources } = readSettings(options);
  const from = config.instance.host.toLowerCase();
  const to = given.toLowerCase().replace(/\.$/, '');
  if (file === undefined)
    throw new OperatorFault('there is no settings file to change; name it with --config, or run rasket setup first');
  const edits = from === to ? [] : planEdits(config, to);
  for (const edit of edits) mustBeOurs(edit, sources);
  const { text } = withSettings(readIfPresent(file), edits, file);
  // Refuses a name that the server would refuse at its start.
  parseConfig(text, file, findServiceSettings(dataDir).env);
  accessSync(file, constants.W_OK);
  const done = await runAsFolderOwner(dataDir, () =>
    withStore(config, dataDir, (store) => planAndBegin(store, { to, edits, options }), {
      audit: { action: 'instance.host_changed', details: { from, to } },
    }),
  );
  if (done.change !== undefined && edits.length > 0) replaceFile(file, text, dataDir);
  printChange({ ...done, file, options });
}

async function planAndBegin(
  store: Store,
  { to, edits, options }: { to: string; edits: Edit[]; options: Options },
): Promise<{ plan: HostPlan; change: HostChange | undefined }> {
  const from = store.config.instance.host.toLowerCase();
  const before = await readHostChange(store.db);
  const isRunning = before !== undefined && before.endsAt > store.clock.now();
  if (from === to && before?.to !== to)
    throw new OperatorFault(`${to} is the host name already (instance.host); nothing was changed`);
  if (isRunning && from !== to && before.to !== to && before.from !== to)
    throw new OperatorFault(
      `the change from ${before.from} to ${before.to} is not finished, and only two names can count at a time; finish it first with: rasket host finish`,
    );
  const plan = await planChange(store, { to, edits });
  if (options.dryRun || from === to) return { plan, change: undefined };
  const missing = plan.host_records.filter(({ type, state }) => /^A/.test(type) && state !== 'published');
  if (missing.length > 0 && options.yes !== true) {
    const records = missing.map(({ type, name, value }) => `${name} ${type} ${value}`).join(', ');
    if (missing.every(({ state }) => state === 'unknown'))
      throw new OperatorFault(
        `DNS does not answer for ${to}, so nobody knows whether it has ${records}. Run the command again once it answers, or change the name in any case with --yes. Nothing was changed`,
      );
    throw new OperatorFault(
      `DNS does not have ${records}; other servers would refuse your mail. Publish it first, or change the name in any case with --yes. Nothing was changed`,
    );
  }
  return { plan, change: await beginHostChange(store, { from, to }) };
}

async function planChange(store: Store, { to, edits }: { to: string; edits: Edit[] }): Promise<HostPlan> {
  const { config } = store;
  const from = config.instance.host.toLowerCase();
  const world = withNet(store);
  try {
    return {
      from,
      to,
      grace_days: config.instance.host_grace_days,
      host_records: await planHostRecords(world, to),
      ...(await planDomainRecords(world, to)),
      certificate: describeCertificate(store, to),
      settings: edits,
      other_settings: listSettingsWith(config, from, edits),
    };
  } finally {
    closeNet(world);
  }
}

/** The settings that a change of the host name changes: the name, and the public URL if it has the same name. */
function planEdits({ instance, http }: Config, to: string): Edit[] {
  const edits: Edit[] = [{ key: 'instance.host', value: to }];
  const url = URL.parse(http.public_url);
  if (url?.hostname === instance.host.toLowerCase()) {
    url.hostname = to;
    edits.push({ key: 'http.public_url', value: url.origin });
  }
  return edits;
}

/** Lists other settings whose value contains a name, such as the EHLO name of a region. */
function listSettingsWith(config: Config, name: string, edits: readonly Edit[]): string[] {
  const found: string[] = [];
  const visit = (value: unknown, key: string): void => {
    if (typeof value === 'string' && value.toLowerCase().includes(name)) found.push(key);
    else if (Array.isArray(value)) value.forEach((item) => visit(item, key));
    else if (typeof value === 'object' && value !== null)
      for (const [part, inner] of Object.entries(value)) visit(inner, key === '' ? part : `${key}.${part}`);
  };
  visit(config, '');
  return [...new Set(found)].filter((key) => !edits.some((edit) => edit.key === key));
}

/** Checks the records of the new name: the addresses of the present one, their reverse DNS, and SPF for notices. */
async function planHostRecords({ config, resolver }: World, to: string): Promise<PlannedRecord[]> {
  const lookUps = createLookUps(config.dns);
  const [present, next] = await Promise.all([
    lookUps.lookUpAddresses(config.instance.host),
    lookUps.lookUpAddresses(to),
  ]);
  const ofHost = { team: null, domain: null };
  const addresses = Array.isArray(present) ? present : Array.isArray(next) ? next : [];
  const records: PlannedRecord[] = addresses.map((address) => ({
    ...ofHost,
    type: toRecordType(address),
    name: to,
    value: address,
    state:
      next === 'unknown' ? 'unknown' : next.includes(address) ? 'published' : next === 'none' ? 'missing' : 'wrong',
  }));
  // The addresses of this machine are not in DNS yet, and only its operator knows them.
  if (addresses.length === 0)
    records.push({
      ...ofHost,
      type: 'A',
      name: to,
      value: 'the address of this machine',
      state: next === 'unknown' ? next : 'missing',
    });
  for (const address of addresses) {
    const names = await lookUps.lookUpNames(address);
    const state =
      names === 'unknown' ? names : names.includes(to) ? 'published' : names.length === 0 ? 'missing' : 'wrong';
    records.push({ ...ofHost, type: 'PTR', name: address, value: to, state });
  }
  const texts = await resolver.txt(to);
  const hasSpf = texts.kind === 'found' && texts.records.some((text) => /^v=spf1( |$)/i.test(text));
  const state = hasSpf ? 'published' : texts.kind === 'failed' ? 'unknown' : 'missing';
  return [...records, { ...ofHost, type: 'TXT', name: to, value: 'v=spf1 a -all', state }];
}

/** Checks the records of all domains of all teams that contain the host name. */
async function planDomainRecords(
  world: World,
  to: string,
): Promise<Pick<HostPlan, 'domain_records' | 'unheld_records'>> {
  const config = { ...world.config, instance: { ...world.config.instance, host: to } };
  const planned = new Map<string, HostRecord[]>();
  for (const one of await listHostRecords(world)) {
    const value = valueWithHost(config, one.record, to);
    // A template of the settings without {host} does not change.
    if (value === undefined || value === valueWithHost(config, one.record, world.config.instance.host)) {
      if (to !== world.config.instance.host) continue;
    }
    const record = { ...one.record, value: value ?? one.record.value };
    planned.set(record.domain_id, [...(planned.get(record.domain_id) ?? []), { ...one, record }]);
  }
  const states = new Map<HostRecord, RecordState>();
  await eachLimit([...planned.values()], DOMAINS_AT_A_TIME, async (ones) => {
    const [first] = ones;
    const domain = first && (await findDomain(world.db, first.teamId, first.record.domain_id));
    if (!domain) return;
    const checks = await checkRecords(
      { ...world, config },
      domain,
      ones.map(({ record }) => record),
      { cache: true },
    );
    for (const [i, one] of ones.entries()) {
      const check = checks[i];
      if (check?.verdict === 'right') states.set(one, check.namedHost === undefined ? 'published' : 'wrong');
      else states.set(one, check?.verdict === 'absent' ? 'missing' : check?.verdict === 'wrong' ? 'wrong' : 'unknown');
    }
  });
  const present = (one: HostRecord): PlannedRecord => ({
    team: one.team,
    domain: one.domain,
    type: one.record.type,
    name: one.record.name,
    value: one.record.priority === null ? one.record.value : `${one.record.priority} ${one.record.value}`,
    state: states.get(one) ?? 'unknown',
  });
  const all = [...planned.values()].flat();
  return {
    domain_records: all.filter(({ isHeld }) => isHeld).map(present),
    unheld_records: all.filter(({ isHeld }) => !isHeld).map(present),
  };
}

function describeCertificate({ config, dataDir }: Store, to: string): string {
  if (asksForCertificates(config))
    return `After the restart, rasket orders a certificate for both names from the authority of [acme]. Until it has been issued, the present one stays in use.`;
  const files = locateCertificateFiles(config, dataDir);
  if (!files) return `Without a certificate of an authority, the server creates a self-signed one for ${to}.`;
  const { keys } = examineCertificate(files);
  const isValid = keys !== undefined && new X509Certificate(keys.cert).checkHost(to) !== undefined;
  return isValid
    ? `The certificate of tls.certificate_file is valid for ${to}.`
    : `The certificate of tls.certificate_file is not valid for ${to}: replace it by one for both names before the change.`;
}

function printChange({
  plan,
  change,
  file,
  options,
}: {
  plan: HostPlan;
  change: HostChange | undefined;
  file: string;
  options: Options;
}): void {
  const { from, to } = plan;
  if (options.json)
    return console.log(
      cleanJson({ ...plan, changed: change !== undefined, ...(change && { ends_at: isoTime(change.endsAt) }) }),
    );
  const terminal = openTerminal({ out: process.stdout, err: process.stderr, env: process.env });
  const table = (rows: readonly PlannedRecord[], without: readonly string[]): void =>
    terminal.print(
      formatTable(
        terminal,
        rows,
        RECORD_COLUMNS.filter(({ title }) => !without.includes(title)),
        { isWide: true, isOneLine: true },
      ),
    );
  terminal.printText(from === to ? `Records of ${to}:` : `Publish these records of ${to} before the change:`);
  table(plan.host_records, ['TEAM', 'DOMAIN']);
  terminal.printText(`\n${plan.certificate}`);
  if (plan.domain_records.length > 0) {
    terminal.printText(
      `\nThe teams publish these records within ${plan.grace_days} days after the change. Until then the records with ${from} count as well. A domain with MTA-STS publishes its new _mta-sts record first, and its MX record after that.`,
    );
    table(plan.domain_records, []);
  }
  if (plan.unheld_records.length > 0) {
    terminal.printText(`\n${UNHELD_HEADING}`);
    table(plan.unheld_records, []);
  }
  if (plan.settings.length > 0) {
    terminal.printText(`\nSettings that change in ${file}:`);
    for (const edit of plan.settings) console.log(`  [${toSection(edit.key)}] ${settingLine(edit)}`);
  }
  if (plan.other_settings.length > 0)
    terminal.printText(
      `\nThese settings contain ${from} too, and stay as they are: ${plan.other_settings.join(', ')}.`,
    );
  if (change === undefined) return terminal.printText(`\nNothing was changed.`);
  terminal.printText(
    `\n${file} now has the name ${to}. Restart the service, on a machine with systemd by: systemctl restart rasket. On each other node, run the same command and restart it. Both names count until ${isoTime(change.endsAt).slice(0, 10)}; see what still contains ${from} with: rasket host`,
  );
}
