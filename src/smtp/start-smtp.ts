import { systemClock, type Clock } from '../platform/clock/index.ts';
import type { ServerTls } from '../platform/server-tls/index.ts';
import type { World } from '../platform/world/index.ts';
import { createRangeCheck } from '../platform/network/index.ts';
import { createConnectionLimits } from './connection-limits.ts';
import type { DoorName, Doors } from './door.ts';
import { listenFault } from './listen-fault.ts';
import { SmtpListener, type ListenerOptions } from './listener.ts';
import { planPorts, type PortPlan } from './port-plan.ts';

export interface SmtpListening {
  host: string;
  port: number;
  tls: 'starttls' | 'implicit';
  doors: readonly DoorName[];
}

/** A port that could not be opened, and why, in one line that says what to do. */
export interface SmtpFault {
  port: number;
  reason: string;
}

export interface SmtpPorts {
  listening: readonly SmtpListening[];
  faults: readonly SmtpFault[];
  /** Takes no new connections, and gives what is under way `graceMs` to end. */
  close(graceMs: number): Promise<void>;
}

export interface SmtpOptions {
  world: World;
  doors: Doors;
  tls: ServerTls;
  /** Measures how long clients take; the system clock unless given. */
  waitClock?: Clock | undefined;
  /** Opens any free port instead of one in use, for trying things out. */
  mayMove?: boolean | undefined;
}

/**
 * Opens the ports. A port that cannot be opened is logged, and stops neither the others nor HTTP: after an update, mail
 * must not stop because another mail server has port 25.
 */
export async function startSmtp(options: SmtpOptions): Promise<SmtpPorts> {
  const { world, doors, tls, mayMove = false } = options;
  const { config, log } = world;
  const { host } = config.smtp;
  const names = (['submission', 'receiving'] as const).filter((name) => doors[name]);
  const shared = sharedOptions(options);
  const open: { listener: SmtpListener; listening: SmtpListening }[] = [];
  const faults: SmtpFault[] = [];
  for (const plan of planPorts(config, names)) {
    const listener = new SmtpListener(optionsFor(plan, doors, shared));
    try {
      const { address, port } = await openPort(listener, { host, port: plan.port, mayMove }, log);
      open.push({
        listener,
        listening: { host: address, port, tls: plan.isImplicit ? 'implicit' : 'starttls', doors: plan.doors },
      });
    } catch (error) {
      const reason = listenFault(error as NodeJS.ErrnoException, plan, host);
      faults.push({ port: plan.port, reason });
      log.error({ port: plan.port, reason }, 'an SMTP port cannot be opened');
    }
  }
  tls.onChange((keys) => {
    for (const { listener } of open) listener.updateSecureContext({ ...keys });
  });
  return {
    listening: open.map(({ listening }) => listening),
    faults,
    close: async (graceMs) => void (await Promise.all(open.map(({ listener }) => listener.end(graceMs)))),
  };
}

async function openPort(
  listener: SmtpListener,
  { host, port, mayMove }: { host: string; port: number; mayMove: boolean },
  log: World['log'],
): Promise<{ address: string; port: number }> {
  try {
    return await listener.open(host, port);
  } catch (error) {
    if (!mayMove || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    const opened = await listener.open(host, 0);
    log.warn({ taken: port, instead: opened.port }, 'an SMTP port has another program; a free one is open instead');
    return opened;
  }
}

type Shared = Omit<ListenerOptions, 'isImplicit' | 'doors'>;

function sharedOptions({ world, doors, tls, waitClock = systemClock }: SmtpOptions): Shared {
  const { clock, config, log, meter, ownConnections } = world;
  const { smtp, submission } = config;
  const limits = createConnectionLimits({ total: smtp.max_connections, perAddress: smtp.max_connections_per_address });
  meter.watch('rasket_smtp_connections', () =>
    (['world', 'submission'] as const).map((kind) => ({ value: limits.open(kind), labels: { kind } })),
  );
  return {
    name: config.instance.host,
    keys: tls.current(),
    perAddressMax: smtp.max_connections_per_address,
    limits,
    connectionsMax: smtp.max_connections,
    idleMs: smtp.idle_seconds * 1000,
    waitClock,
    isTrustedProxy: createRangeCheck(smtp.trusted_proxies),
    ownConnections,
    log,
    rules: {
      clock,
      maySubmit: doors.submission !== undefined,
      isForWorld: doors.receiving !== undefined,
      mayLogInPlain: submission.insecure_login,
      messageBytesMax: smtp.message_bytes,
      greetingDelayMs: doors.receiving?.greetingDelayMs ?? 0,
      loginMs: submission.login_seconds * 1000,
    },
  };
}

function optionsFor({ isImplicit, doors: names }: PortPlan, all: Doors, shared: Shared): ListenerOptions {
  const doors: Doors = {
    submission: names.includes('submission') ? all.submission : undefined,
    receiving: names.includes('receiving') ? all.receiving : undefined,
  };
  const rules = {
    ...shared.rules,
    maySubmit: doors.submission !== undefined,
    isForWorld: doors.receiving !== undefined,
    // Only the greeting of a port for the world is delayed.
    greetingDelayMs: doors.receiving ? shared.rules.greetingDelayMs : 0,
    loginMs: doors.receiving ? undefined : shared.rules.loginMs,
  };
  return { ...shared, isImplicit, doors, rules };
}
