import { systemClock, type Clock } from '../../platform/clock.ts';
import { findHolders } from '../../platform/listeners.ts';
import type { ServerTls } from '../../platform/server-tls.ts';
import type { World } from '../../platform/world.ts';
import { createRangeCheck } from '../../platform/network/index.ts';
import { createConnectionLimits } from './connection-limits.ts';
import type { SmtpServiceName, SmtpHandlers } from './handler.ts';
import { SmtpListener, type ListenerOptions } from './listener.ts';
import type { Config } from '../../platform/config/index.ts';

export interface SmtpListening {
  host: string;
  port: number;
  tls: 'starttls' | 'implicit';
  doors: readonly SmtpServiceName[];
}

/** A port that is not open, and the reason in one line that says what to do. */
interface SmtpFault {
  port: number;
  reason: string;
  /** True when the process lacks the permission to open the port, so that only a restart helps. */
  needsStart: boolean;
}

export interface SmtpPorts {
  /** The ports that are open now. */
  readonly listening: readonly SmtpListening[];
  /** The ports that are not open now. */
  readonly faults: readonly SmtpFault[];
  /** Stops accepting connections, opens no further port, and gives open connections `graceMs` to end. */
  close(graceMs: number): Promise<void>;
}

interface SmtpOptions {
  world: World;
  doors: SmtpHandlers;
  tls: ServerTls;
  /** Measures how long clients take; the system clock unless given. */
  waitClock?: Clock | undefined;
  /** Opens any free port instead of one in use, for trying things out. */
  mayMove?: boolean | undefined;
}

/** Interval at which a port is tried again: often the previous server still has it at the start. */
const RETRY_MS = 5000;

/**
 * Opens the ports. A port that cannot be opened is logged and tried again, and stops neither the others nor HTTP: after an update,
 * mail must not stop because another mail server has port 25.
 */
export async function startSmtp(options: SmtpOptions): Promise<SmtpPorts> {
  const { world, doors, tls } = options;
  const { clock, config, log } = world;
  const names = (['submission', 'receiving'] as const).filter((name) => doors[name]);
  const shared = sharedOptions(options);
  const open = new Map<PortPlan, { listener: SmtpListener; listening: SmtpListening }>();
  const faults = new Map<PortPlan, SmtpFault>();
  const plans = planPorts(config, names);

  async function tryToOpen(plan: PortPlan): Promise<void> {
    const listener = new SmtpListener(optionsFor(plan, doors, { ...shared, keys: tls.current() }));
    try {
      const { address, port } = await openPort(listener, plan, options);
      const way = plan.isImplicit ? 'implicit' : 'starttls';
      open.set(plan, { listener, listening: { host: address, port, tls: way, doors: plan.doors } });
      if (faults.delete(plan)) log.info({ port }, 'an SMTP port that could not be opened before is open');
    } catch (error) {
      const fault = error as NodeJS.ErrnoException;
      const reason = listenFault(fault, plan, config.smtp.host);
      if (faults.get(plan)?.reason !== reason) {
        log.error({ port: plan.port, reason }, 'an SMTP port cannot be opened');
      }
      faults.set(plan, { port: plan.port, reason, needsStart: fault.code === 'EACCES' || fault.code === 'EPERM' });
    }
  }

  for (const plan of plans) await tryToOpen(plan);
  let isClosing = false;
  let retrying = Promise.resolve();
  let cancelRetry = (): void => undefined;
  function retryLater(): void {
    if (isClosing || faults.size === 0) return;
    cancelRetry = clock.timer(RETRY_MS, () => {
      retrying = Promise.all([...faults.keys()].map(tryToOpen)).then(retryLater);
    });
  }
  retryLater();
  tls.onChange((keys) => {
    for (const { listener } of open.values()) listener.updateSecureContext({ ...keys });
  });
  const inOrder = <T>(found: ReadonlyMap<PortPlan, T>): T[] =>
    plans.flatMap((plan) => {
      const one = found.get(plan);
      return one === undefined ? [] : [one];
    });
  return {
    get listening() {
      return inOrder(open).map(({ listening }) => listening);
    },
    get faults() {
      return inOrder(faults);
    },
    async close(graceMs) {
      isClosing = true;
      cancelRetry();
      // A port that opens at this moment is closed like the others.
      await retrying;
      await Promise.all([...open.values()].map(({ listener }) => listener.end(graceMs)));
    },
  };
}

async function openPort(
  listener: SmtpListener,
  { port }: PortPlan,
  { world: { config, log }, mayMove = false }: SmtpOptions,
): Promise<{ address: string; port: number }> {
  const { host } = config.smtp;
  try {
    return await listener.open(host, port);
  } catch (error) {
    if (!mayMove || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    const opened = await listener.open(host, 0);
    log.warn({ taken: port, instead: opened.port }, 'an SMTP port has another program; a free one is open instead');
    return opened;
  }
}

type Shared = Omit<ListenerOptions, 'isImplicit' | 'doors' | 'keys'>;

function sharedOptions({ world, doors, waitClock = systemClock }: SmtpOptions): Shared {
  const { clock, config, log, meter, ownConnections } = world;
  const { smtp, submission } = config;
  const limits = createConnectionLimits({ total: smtp.max_connections, perAddress: smtp.max_connections_per_address });
  meter.watch('rasket_smtp_connections', () =>
    (['world', 'submission'] as const).map((kind) => ({ value: limits.open(kind), labels: { kind } })),
  );
  return {
    name: config.instance.host,
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

function optionsFor(
  { isImplicit, doors: names }: PortPlan,
  all: SmtpHandlers,
  shared: Omit<ListenerOptions, 'isImplicit' | 'doors'>,
): ListenerOptions {
  const doors: SmtpHandlers = {
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

/** Describes why a port is not open, in one line that says what to do. */
function listenFault(error: NodeJS.ErrnoException, plan: PortPlan, host: string): string {
  const settings = nameSettings(plan);
  const { port } = plan;
  switch (error.code) {
    case 'EADDRINUSE':
      return `port ${port} is in use by ${findHolders(port)}; stop it, or take ${port} out of ${settings}`;
    case 'EACCES':
    case 'EPERM':
      return `port ${port} needs root or CAP_NET_BIND_SERVICE, which the systemd unit gives; or name ports above 1023 as ${settings}`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine; set smtp.host to one that is`;
    default:
      return `port ${port} cannot be opened (${error.code ?? error.message}); look at smtp.host and ${settings}`;
  }
}

interface PortPlan {
  port: number;
  /** TLS from the first byte, instead of by STARTTLS. */
  isImplicit: boolean;
  doors: SmtpServiceName[];
}

/** Returns the ports to open, and what listens there. A port that two settings name is one listener for both. */
function planPorts({ submission, receiving }: Config, open: readonly SmtpServiceName[]): PortPlan[] {
  const wanted = [
    { name: 'submission' as const, isImplicit: false, ports: submission.ports },
    { name: 'submission' as const, isImplicit: true, ports: submission.tls_ports },
    { name: 'receiving' as const, isImplicit: false, ports: receiving.ports },
  ];
  const plans: PortPlan[] = [];
  for (const { name, isImplicit, ports } of wanted) {
    if (!open.includes(name)) continue;
    for (const port of new Set(ports)) {
      const known = plans.find((plan) => plan.port === port && plan.isImplicit === isImplicit);
      if (known) known.doors.push(name);
      else plans.push({ port, isImplicit, doors: [name] });
    }
  }
  return plans;
}

/** The settings that name the port, for error messages. */
const nameSettings = ({ isImplicit, doors }: PortPlan): string =>
  doors.map((door) => `${door}.${isImplicit ? 'tls_ports' : 'ports'}`).join(' and ');
