import { stopwatch } from '../../platform/clock.ts';
import type { Doctor } from './doctor/doctor.ts';
import type { Node } from './upkeep/node.ts';
import { listCertificates, renewCertificates } from './certificates/certificates.ts';
import { loadTeamFindings, presentForAnybody, presentForOperator, presentForTeam } from './findings/findings-report.ts';
import type { Finding } from '../../platform/finding.ts';
import { Answered, type OperationTable } from '../../tenancy/access/index.ts';
import type { World } from '../../platform/world.ts';

/** Services that the health operations use. */
interface HealthServices {
  world: World;
  version: string;
  node: Node;
  /** Checks of everything that requests depend on, by name. */
  checks: Record<string, () => Promise<void>>;
}

export const system = {
  getHealth: ({ store, services: { version } }) =>
    Promise.resolve({ status: 'ok' as const, version, env: store.config.instance.env }),
  async getReady({ services }) {
    const { version, world } = services;
    const [findings, ...checks] = await Promise.all([
      loadFindings(services),
      ...Object.entries(services.checks).map(([name, check]) => run(services, name, check)),
    ]);
    const failed = checks.filter((check) => !check.ok).map((check) => check.name);
    const shown = presentForAnybody(findings);
    const body = { version, env: world.config.instance.env, checks, failed, findings: shown };
    if (failed.length === 0) return { status: shown.length === 0 ? 'ok' : 'degraded', ...body };
    const error = {
      statusCode: 503,
      name: 'service_unavailable',
      message: `Not ready: ${failed.join(', ')}.`,
    } as const;
    return new Answered(503, { status: 'degraded', ...body, ...error });
  },
} satisfies OperationTable<World, { services: HealthServices }>;

/** Returns the findings; if the database does not respond, only those that this process knows of itself. */
async function loadFindings({ node, world }: HealthServices): Promise<readonly Finding[]> {
  try {
    return (await withinLimit(world, node.loadReport())).findings;
  } catch (error) {
    world.log.error({ err: error }, 'could not determine the findings');
    return node.atHand();
  }
}

async function run({ world }: HealthServices, name: string, check: () => Promise<void>) {
  const elapsedMs = stopwatch();
  const durationMs = (): number => Math.round(elapsedMs() * 1000) / 1000;
  try {
    await check();
    return { name, ok: true, durationMs: durationMs() };
  } catch (error) {
    world.log.error({ err: error, check: name }, 'not ready');
    // The cause stays in the log, because this response needs no credential.
    return { name, ok: false, durationMs: durationMs(), error: `${name} does not answer as it should` };
  }
}

const CHECK_MS_MAX = 2000;

/** Bounds a check: a probe must respond while its dependencies do not. */
function withinLimit<T>(world: World, check: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new Error(`no answer within ${CHECK_MS_MAX} ms`));
    const cancel = world.clock.timer(CHECK_MS_MAX, late);
    check.then(resolve, reject).finally(cancel);
  });
}

export const findings = {
  async getFindings({ store, teamId, services: { node } }) {
    return presentForTeam(await loadTeamFindings(store, teamId, await node.report()), store.clock.now());
  },
  getOperatorFindings: async ({ services: { node } }) => presentForOperator(await node.loadReport()),
  async examineInstallation({ services: { doctor, node } }) {
    await doctor.examine();
    return presentForOperator(await node.reloadReport());
  },
} satisfies OperationTable<World, { services: { node: Node; doctor: Doctor } }>;

export const certificates = {
  listCertificates: ({ store }) => listCertificates(store),
  renewCertificates: ({ store }, { body }) => renewCertificates(store, body),
} satisfies OperationTable<World>;
