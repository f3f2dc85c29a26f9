/**
 * Notifies systemd about this process: that it is ready, that its main loop runs, that it stops. Node.js has no
 * datagrams on Unix sockets, so this runs `systemd-notify`, which waits until the message was received. Without a
 * service manager it does nothing.
 */
import { spawn } from 'node:child_process';
import { repeat, type Clock } from './clock.ts';
import type { Log } from './log/index.ts';

export interface ServiceManager {
  ready(): void;
  /** The manager waits at least this long before it kills the process. */
  stopping(graceMs: number): void;
  /** Sends no more watchdog messages. */
  close(): void;
}

type Surroundings = Readonly<Record<string, string | undefined>>;

export function openServiceManager(env: Surroundings, { clock, log }: { clock: Clock; log: Log }): ServiceManager {
  const { NOTIFY_SOCKET: socket, PATH } = env;
  if (socket === undefined || socket === '') return { ready: nothing, stopping: nothing, close: nothing };
  let isWarned = false;
  let endSigns = nothing;
  let isClosed = false;

  function notify(...states: string[]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const teller = spawn('systemd-notify', states, { env: { NOTIFY_SOCKET: socket, PATH }, stdio: 'ignore' });
    const end = (because?: string): void => {
      if (because !== undefined && !isWarned) log.warn({ because, states }, 'the service manager cannot be notified');
      isWarned ||= because !== undefined;
      resolve();
    };
    teller.once('error', (error) => end(error.message));
    teller.once('exit', (code) => end(code === 0 ? undefined : `systemd-notify ended with ${code}`));
    return promise;
  }

  return {
    ready() {
      const everyMs = watchdogMs(env) / 2;
      // Sent by a timer of the main loop, so that a loop that hangs sends nothing. Each message takes a process of its
      // own, and the first may be slow.
      void notify('READY=1').then(() => {
        if (everyMs > 0 && !isClosed) endSigns = repeat(clock, everyMs, () => notify('WATCHDOG=1'));
      });
    },
    stopping: (graceMs) => void notify('STOPPING=1', `EXTEND_TIMEOUT_USEC=${Math.ceil(graceMs * 1000)}`),
    close() {
      isClosed = true;
      endSigns();
    },
  };
}

/**
 * Returns the interval within which a watchdog message is expected; 0 if there is none, or if it is for another
 * process.
 */
function watchdogMs({ WATCHDOG_USEC: usec, WATCHDOG_PID: pid }: Surroundings): number {
  if (pid !== undefined && pid !== String(process.pid)) return 0;
  const ms = Number(usec ?? 0) / 1000;
  return Number.isFinite(ms) && ms > 0 ? ms : 0;
}

function nothing(): void {}
