import type { Clock } from '../platform/clock/index.ts';
import { SmtpReply } from './smtp-reply.ts';

export interface CommandWaitOptions {
  clock: Clock;
  /** A command has this long to come, whole, whatever bytes of it come meanwhile. */
  commandMs: number;
  /** Whether others may soon find no place. */
  isShort(): boolean;
  /** Told once, with what to say. */
  tooLong(reply: SmtpReply): void;
}

export interface CommandWait {
  /** From now on the client is to speak. */
  begins(): void;
  /** A command has come; what is done about it takes as long as it takes. */
  came(): void;
  /** A message was brought. */
  brought(): void;
  stop(): void;
}

/** Where places are short; Postfix asks for ten seconds then, which a far and busy server may miss. */
const SHORT_COMMAND_MS = 20_000;
/** Where places are short: a connection that brings nothing, with whatever commands, keeps others out. */
const SHORT_MESSAGE_MS = 120_000;

/**
 * How long a connection may keep us waiting. Counted from our last reply, so that a byte now and then holds no place; and
 * by less while places are short, so that one always comes free.
 */
export function createCommandWait({ clock, commandMs, isShort, tooLong }: CommandWaitOptions): CommandWait {
  const shortMs = Math.min(commandMs, SHORT_COMMAND_MS);
  let since: number | undefined = clock.now();
  let broughtAt = since;
  let cancel = (): void => undefined;

  function faultAt(now: number, waited: number): SmtpReply | undefined {
    const again = 'connect again when there is mail';
    if (waited >= commandMs) return new SmtpReply(421, '4.4.2', `No command came for ${commandMs / 1000} s; ${again}`);
    if (!isShort()) return undefined;
    if (waited >= shortMs)
      return new SmtpReply(421, '4.3.2', `Many wait for a connection, and no command came; ${again}`);
    if (now - broughtAt < SHORT_MESSAGE_MS) return undefined;
    return new SmtpReply(421, '4.3.2', `Many wait for a connection, and nothing was brought; ${again}`);
  }

  const look = (): void => {
    const now = clock.now();
    const waited = since === undefined ? 0 : now - since;
    const fault = since === undefined ? undefined : faultAt(now, waited);
    if (fault) return tooLong(fault);
    // Whether places are short is asked again after as long as it then matters.
    const next = waited < shortMs ? shortMs - waited : Math.min(shortMs, commandMs - waited);
    cancel = clock.timer(next, look);
  };
  look();
  return {
    begins: () => void (since = clock.now()),
    came: () => void (since = undefined),
    brought: () => void (broughtAt = clock.now()),
    stop: () => cancel(),
  };
}
