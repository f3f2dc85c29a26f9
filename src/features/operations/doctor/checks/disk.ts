import { statfs } from 'node:fs/promises';
import { findingOf, freeBytesOfLate, type DiskSample } from '../../findings/index.ts';
import { nothingSeen, type Check } from '../check.ts';

const MIB = 1024 * 1024;
const DAY_MS = 86_400_000;
/** A growth is judged by so many samples, over so long: an import of an hour is none. */
const SAMPLES_MIN = 3;
const SPAN_MIN_MS = DAY_MS;

/** What is free for us on the disk of the data folder. */
export async function freeBytes(dataDir: string): Promise<{ free: number; size: number }> {
  const { bavail, blocks, bsize } = await statfs(dataDir);
  return { free: bavail * bsize, size: blocks * bsize };
}

/** What is free, and until when, as it has shrunk within the week. */
export const checkDisk: Check = async ({ world, self }) => {
  const { config, clock, dataDir } = world;
  const seen = nothingSeen();
  const { free, size } = await freeBytes(dataDir);
  const inWords = `${mib(free)} of ${mib(size)} are free on the disk of ${dataDir}`;
  if (free < config.doctor.disk_free_mb * MIB) {
    const summary = `${inWords}, less than doctor.disk_free_mb.`;
    seen.findings.push(findingOf('disk_low', { summary }));
  } else seen.says.push(inWords);
  const samples = await freeBytesOfLate(world, self.machine);
  const days = daysLeft([...samples, { at: clock.now(), free_bytes: free }]);
  if (days !== undefined && days < config.doctor.disk_days) {
    const when = days < 1 ? 'within a day' : `in about ${Math.round(days)} ${Math.round(days) === 1 ? 'day' : 'days'}`;
    const summary = `The disk of ${dataDir} is full ${when}, as it has grown within the last week; ${mib(free)} are free.`;
    seen.findings.push(findingOf('disk_filling', { summary }));
  } else if (days !== undefined) seen.says.push(`As it grows, it is full in about ${Math.round(days)} days`);
  return seen;
};

const mib = (bytes: number): string => {
  const count = bytes / MIB;
  return count >= 10_240 ? `${Math.round(count / 1024)} GiB` : `${Math.round(count)} MiB`;
};

/** By the line that lies nearest to all samples; undefined where nothing grows, or too little is known. */
export function daysLeft(samples: readonly DiskSample[]): number | undefined {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || samples.length < SAMPLES_MIN || last.at - first.at < SPAN_MIN_MS) return undefined;
  const meanAt = samples.reduce((sum, { at }) => sum + (at - first.at), 0) / samples.length;
  const meanFree = samples.reduce((sum, { free_bytes: free }) => sum + free, 0) / samples.length;
  let [above, below] = [0, 0];
  for (const { at, free_bytes: free } of samples) {
    above += (at - first.at - meanAt) * (free - meanFree);
    below += (at - first.at - meanAt) ** 2;
  }
  const perMs = above / below;
  return perMs < 0 ? last.free_bytes / -perMs / DAY_MS : undefined;
}
