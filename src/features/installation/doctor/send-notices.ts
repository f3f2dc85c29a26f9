import { runCommand } from '../../../platform/command.ts';
import { isoTime, systemClock } from '../../../platform/clock.ts';
import type { World } from '../../../platform/world.ts';
import { webhookHeaders } from '../../../protocol/webhook-signature.ts';
import { beginNotice, endNotice, forgetOldNotices, noticesAbout, type Notice } from '../findings/notices.ts';
import type { Finding } from '../../../platform/finding.ts';
import { createHash } from 'node:crypto';
import { open, readdir, rm } from 'node:fs/promises';
import path from 'node:path';

const ANSWER_BYTES_MAX = 64 * 1024;

/** Sends due notices, one after the other; returns how many were sent. A failed notice is tried again some times. */
export async function sendNotices(world: World, stopping?: AbortSignal): Promise<number> {
  const { log } = world;
  for (const { channel, created_at: at } of await forgetOldNotices(world))
    log.warn(
      { channel, at: isoTime(at) },
      'the process ended while a notice of findings was being sent; the notice may be lost',
    );
  for (let told = 0; ;) {
    const notice = stopping?.aborted ? undefined : await beginNotice(world);
    if (!notice) return told;
    const fault = await sendNotice(world, notice);
    const nextTry = await endNotice(world, notice, fault === undefined);
    if (fault === undefined) told++;
    else {
      const next = nextTry === null ? 'never' : isoTime(nextTry);
      log.error({ channel: notice.channel, fault, next }, 'a notice of findings could not be sent');
    }
  }
}

/** Sends a notice; returns the reason if that failed. */
function sendNotice(world: World, notice: Notice): Promise<string | undefined> {
  return notice.channel === 'command' ? byCommand(world, notice) : byUrl(world, notice);
}

async function byCommand({ config }: World, { body }: Notice): Promise<string | undefined> {
  const { notify_command: command, notify_seconds: seconds } = config.doctor;
  if (command.length === 0) return 'doctor.notify_command is empty now';
  const end = await runCommand(command, { input: body, timeoutMs: seconds * 1000 });
  if (end.kind === 'done') return undefined;
  const said = end.said.trim();
  return `${command[0] ?? ''}: ${end.why}${said === '' ? '' : `: ${said}`}`;
}

/** Posts a notice signed like a webhook, with the same id in every try. */
async function byUrl({ clock, config, fetch }: World, { id, body }: Notice): Promise<string | undefined> {
  const { notify_url: text, notify_secret: secret, notify_seconds: seconds } = config.doctor;
  if (text === '') return 'doctor.notify_url is empty now';
  const url = new URL(text);
  const timestampSeconds = Math.floor(clock.now() / 1000);
  const signed = webhookHeaders([secret], { id: `fnd_${id}`, timestampSeconds, body });
  let left = ANSWER_BYTES_MAX;
  const limits = { signal: AbortSignal.timeout(seconds * 1000), mayTake: (bytes: number) => (left -= bytes) >= 0 };
  const headers = { 'content-type': 'application/json', ...signed };
  const answer = await fetch.send({ method: 'POST', url, headers, body }, limits);
  if (answer.kind === 'failed') return `${url.host} does not accept it (${answer.fault.kind})`;
  return answer.status >= 200 && answer.status < 300 ? undefined : `${url.host} answers ${answer.status}`;
}

/** Delays before each further try; the process waits for them before it ends. */
const RETRY_MS = [1000, 4000];
const PREFIX = 'told-of-move-';

/**
 * Sends the command and the URL of the settings the reason that the database of this node is out of use. The database
 * can no longer record it: files in the folder of this node record that it was begun, so that no process of the node
 * reports the same `event` twice.
 */
export async function reportLoss(world: World, finding: Finding, event: string): Promise<void> {
  const { dataDir } = world;
  const folder = path.join(dataDir, 'run');
  const which = createHash('sha256').update(event).digest('hex').slice(0, 16);
  await forgetOthers(folder, which);
  await Promise.all(
    noticesAbout(world, [finding]).map(async (notice) => {
      if (await begin(folder, `${PREFIX}${which}-${notice.channel}`)) await sendWithRetries(world, notice);
    }),
  );
}

async function sendWithRetries(world: World, notice: Notice): Promise<void> {
  for (const waitMs of [...RETRY_MS, undefined]) {
    const fault = await sendNotice(world, notice);
    if (fault === undefined) return;
    const next = waitMs === undefined ? 'never' : `in ${waitMs / 1000} s`;
    world.log.error({ channel: notice.channel, fault, next }, 'a notice of findings could not be sent');
    if (waitMs !== undefined) await new Promise<void>((done) => void systemClock.timer(waitMs, done));
  }
}

/** Claims a notice; returns false if another process has begun it, or this one before a crash. */
async function begin(folder: string, name: string): Promise<boolean> {
  try {
    const file = await open(path.join(folder, name), 'wx', 0o600);
    await file.sync().finally(() => file.close());
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
  const parent = await open(folder, 'r');
  await parent.sync().finally(() => parent.close());
  return true;
}

/** Removes the records of earlier events. */
async function forgetOthers(folder: string, which: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name.startsWith(PREFIX) && !name.startsWith(`${PREFIX}${which}`))
      await rm(path.join(folder, name), { force: true });
}
