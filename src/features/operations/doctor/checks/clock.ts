import { askTime } from '../../../../platform/probe/index.ts';
import { findingOf } from '../../findings/index.ts';
import { nothingSeen, skipped, type Check, type Examination } from '../check.ts';

const SNTP_PORT = 123;
const BODY_BYTES_MAX = 256 * 1024;
/** A Date header has whole seconds. */
const HALF_SECOND_MS = 500;

/** Holds the clock against that of another machine, which the settings name. */
export const checkClock: Check = async (examination) => {
  const { config } = examination.world;
  const source = config.doctor.clock_source || config.acme.directory;
  if (source === '') return skipped('doctor.clock_source names nothing to hold the clock against');
  const seen = nothingSeen();
  const url = new URL(source);
  const told = url.protocol === 'sntp:' ? await askServer(examination, url) : await askHeader(examination, url);
  if (typeof told === 'string') {
    seen.unknown.push({ says: `whether the clock is right: ${url.host} ${told}` });
    return seen;
  }
  const offSeconds = Math.round(told.aheadMs / 1000);
  const words = `${Math.abs(offSeconds)} seconds ${offSeconds > 0 ? 'ahead of' : 'behind'} that of ${url.host}`;
  if (Math.abs(offSeconds) > config.doctor.clock_seconds) {
    const summary = `The clock of this machine is ${words}: signatures and one-time passwords are refused.`;
    seen.findings.push(findingOf('clock_wrong', { summary }));
  } else seen.says.push(offSeconds === 0 ? `The clock is that of ${url.host}` : `The clock is ${words}`);
  return seen;
};

type Told = { aheadMs: number } | string;

async function askHeader({ world, signal }: Examination, url: URL): Promise<Told> {
  const { clock, config } = world;
  let left = BODY_BYTES_MAX;
  const limits = { signal, mayTake: (bytes: number) => (left -= bytes) >= 0 };
  const asker = config.doctor.clock_source === '' ? world.authority : world.fetch;
  const before = clock.now();
  const answer = await asker.send({ method: 'GET', url, headers: {} }, limits);
  const middle = (before + clock.now()) / 2;
  if (answer.kind === 'failed') {
    const isOfTime = answer.fault.kind === 'tls' && /NOT_YET_VALID|EXPIRED/.test(answer.fault.code);
    if (isOfTime) return 'shows a certificate that is not valid at the time of this machine';
    return answer.fault.kind === 'tls'
      ? `cannot be trusted (${answer.fault.code})`
      : `does not answer (${answer.fault.kind})`;
  }
  const date = Date.parse(answer.headers.date ?? '');
  return Number.isNaN(date) ? 'says no date' : { aheadMs: middle - (date + HALF_SECOND_MS) };
}

async function askServer({ world, signal }: Examination, url: URL): Promise<Told> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const found = await world.resolver.addresses(host);
  const [address] = found.kind === 'found' ? [...found.records.v4, ...found.records.v6] : [];
  if (address === undefined) return 'has no address';
  const before = world.clock.now();
  const time = await askTime({ address, port: url.port === '' ? SNTP_PORT : Number(url.port) }, signal);
  if (time === undefined) return 'does not tell the time';
  return { aheadMs: (before + world.clock.now()) / 2 - time };
}
