import type { DomainObject, DomainRecord } from '../../../src/contract/index.ts';
import { ApiFault, type Client } from '../../client/index.ts';
import type { Session } from '../declare.ts';
import { prepare, type Call } from '../run-action.ts';
import { printDomain } from './records.ts';

export interface RotateOptions {
  wait: boolean;
  waitMinutes: number;
  zone?: boolean;
}

/** The clock and pauses, real or those of a test. */
export interface Pace {
  now(): number;
  sleep(ms: number): Promise<void>;
}

const realPace: Pace = {
  now: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
};

/** The server remembers for half a minute that a record was absent; asking more often returns nothing new. */
const PAUSE_MS = 15_000;
const MINUTE_MS = 60_000;

export async function rotate(session: Session, call: Call): Promise<void> {
  const [{ domain_id = '' }] = await prepare(session, call);
  await rotateDkim(session, domain_id, call.options as unknown as RotateOptions);
}

/** Publishes nothing itself: it shows the new records, waits until they are seen, and ends when the new key signs. */
export async function rotateDkim(
  session: Session,
  id: string,
  options: RotateOptions,
  pace: Pace = realPace,
): Promise<void> {
  const { client, terminal, isJson } = session;
  const path = { domain_id: id };
  const rotated = await client.call('rotateDkim', { path });
  const incoming = rotated.records.filter((record) => record.key_status === 'incoming');
  const awaited = incoming.find((record) => record.value.includes('k=rsa'));
  if (!options.wait || !awaited) return show(session, rotated, incoming, options);
  if (!isJson) printDomain(terminal, { ...rotated, records: incoming }, options.zone ?? false);
  terminal.hint(
    '\nPublish these records; the old key signs until they are found. After Ctrl-C, the server continues the rotation.',
  );
  const began = pace.now();
  const countMinutes = (): number => Math.floor((pace.now() - began) / MINUTE_MS);
  const watch = (text: string): void => terminal.progress(`${text}  ${countMinutes()} min of ${options.waitMinutes}`);
  // A log, or the person in front of a pipe, learns what the command waits for; a terminal has the line of progress.
  terminal.notice(
    `Waiting up to ${options.waitMinutes} minutes for ${awaited.name} to be published. --no-wait exits at once.`,
  );
  let toldMinutes = 0;
  let last = await pollRotation(client, path, awaited, pace, watch);
  while (!isActive(last, awaited) && pace.now() - began < options.waitMinutes * MINUTE_MS) {
    const status = recordIn(last, awaited)?.status ?? 'pending';
    watch(`Waiting for ${awaited.name} (${status})`);
    await pace.sleep(PAUSE_MS);
    if (countMinutes() > toldMinutes) {
      toldMinutes = countMinutes();
      terminal.notice(
        `Still waiting for ${awaited.name} (${status}): ${toldMinutes} of ${options.waitMinutes} minutes.`,
      );
    }
    last = await pollRotation(client, path, awaited, pace, watch);
  }
  terminal.progress('');
  if (isActive(last, awaited)) return printResult(session, last, awaited);
  session.fail();
  if (isJson) return terminal.printJson(last);
  terminal.printText(`Not found yet: ${awaited.name}. The old key keeps signing, and the server keeps checking.`);
}

/** Returns the current domain. The server switches by itself at its next check; a request makes it check at once. */
async function pollRotation(
  client: Client,
  path: { domain_id: string },
  awaited: DomainRecord,
  pace: Pace,
  watch: (text: string) => void,
): Promise<DomainObject> {
  const found = await client.call('getDomain', { path });
  if (isActive(found, awaited) || recordIn(found, awaited)?.status !== 'verified') return found;
  watch(`Found ${awaited.name}, switching`);
  try {
    await client.call('verifyDomain', { path });
  } catch (error) {
    if (!(error instanceof ApiFault) || error.status !== 429) throw error;
    await pace.sleep((error.retryAfterSeconds ?? 1) * 1000);
    await client.call('verifyDomain', { path });
  }
  return client.call('getDomain', { path });
}

const recordIn = (domain: DomainObject, awaited: DomainRecord): DomainRecord | undefined =>
  domain.records.find((record) => record.name === awaited.name);
const isActive = (domain: DomainObject, awaited: DomainRecord): boolean =>
  recordIn(domain, awaited)?.key_status === 'active';

function show(
  { terminal, isJson }: Session,
  domain: DomainObject,
  incoming: DomainRecord[],
  options: RotateOptions,
): void {
  if (isJson) return terminal.printJson(domain);
  printDomain(terminal, { ...domain, records: incoming }, options.zone ?? false);
  terminal.hint('\nPublish these records. The old key signs until they are found; the server checks automatically.');
}

function printResult({ terminal, isJson }: Session, domain: DomainObject, awaited: DomainRecord): void {
  if (isJson) return terminal.printJson(domain);
  terminal.print(`Rotated  ${domain.name} signs with ${awaited.name.split('.')[0] ?? ''} now`);
  const old = domain.records.filter((record) => record.key_status === 'retiring').map((record) => record.name);
  if (old.length > 0)
    terminal.hint(`Keep the old records for a few days, until all mail that they sign has arrived: ${old.join(', ')}`);
}
