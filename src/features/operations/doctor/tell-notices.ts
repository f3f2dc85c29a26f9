import { runCommand } from '../../../platform/command/index.ts';
import { isoTime } from '../../../platform/clock/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { webhookHeaders } from '../../../protocol/webhook-signature/index.ts';
import { beginNotice, endNotice, forgetOldNotices, type Notice } from '../findings/index.ts';

const ANSWER_BYTES_MAX = 64 * 1024;

/** Has told what is due, one after the other; answers how many were. What cannot be told is tried again some times. */
export async function tellNotices(world: World, stopping?: AbortSignal): Promise<number> {
  const { log } = world;
  for (const { channel, created_at: at } of await forgetOldNotices(world))
    log.warn(
      { channel, at: isoTime(at) },
      'a notice of findings was begun, and its process ended; it may not have been heard',
    );
  for (let told = 0; ;) {
    const notice = stopping?.aborted ? undefined : await beginNotice(world);
    if (!notice) return told;
    const fault = await tell(world, notice);
    const nextTry = await endNotice(world, notice, fault === undefined);
    if (fault === undefined) told++;
    else {
      const next = nextTry === null ? 'never' : isoTime(nextTry);
      log.error({ channel: notice.channel, fault, next }, 'a notice of findings could not be told');
    }
  }
}

/** Answers why not. */
export function tell(world: World, notice: Notice): Promise<string | undefined> {
  return notice.channel === 'command' ? byCommand(world, notice) : byUrl(world, notice);
}

async function byCommand({ config }: World, { body }: Notice): Promise<string | undefined> {
  const { notify_command: command, notify_seconds: seconds } = config.doctor;
  if (command.length === 0) return 'doctor.notify_command names no program any more';
  const end = await runCommand(command, { input: body, timeoutMs: seconds * 1000 });
  if (end.kind === 'done') return undefined;
  const said = end.said.trim();
  return `${command[0] ?? ''}: ${end.why}${said === '' ? '' : `: ${said}`}`;
}

/** Signed as webhooks are, with an id that is the same in every try. */
async function byUrl({ clock, config, fetch }: World, { id, body }: Notice): Promise<string | undefined> {
  const { notify_url: text, notify_secret: secret, notify_seconds: seconds } = config.doctor;
  if (text === '') return 'doctor.notify_url names nothing any more';
  const url = new URL(text);
  const timestampSeconds = Math.floor(clock.now() / 1000);
  const signed = webhookHeaders([secret], { id: `fnd_${id}`, timestampSeconds, body });
  let left = ANSWER_BYTES_MAX;
  const limits = { signal: AbortSignal.timeout(seconds * 1000), mayTake: (bytes: number) => (left -= bytes) >= 0 };
  const headers = { 'content-type': 'application/json', ...signed };
  const answer = await fetch.send({ method: 'POST', url, headers, body }, limits);
  if (answer.kind === 'failed') return `${url.host} does not take it (${answer.fault.kind})`;
  return answer.status >= 200 && answer.status < 300 ? undefined : `${url.host} answers ${answer.status}`;
}
