import { formatContractYaml } from '../../contract/index.ts';
import { docsStyleHash, renderDocsPage } from '../docs-page.ts';
import type { Call, OpenHandler } from '../operation.ts';

export const operations: Record<string, OpenHandler> = {
  getHealth: ({ services: { version, world } }) => ({ status: 'ok', version, env: world.config.instance.env }),
  getReady,
  getOpenapiJson: ({ services }) => services.document,
  getOpenapiYaml({ services, reply }) {
    reply.type('application/yaml; charset=utf-8');
    return (yaml ??= formatContractYaml(services.document));
  },
  getDocs({ services, reply }) {
    reply.type('text/html; charset=utf-8');
    reply.header('content-security-policy', docsPolicy);
    return (page ??= renderDocsPage(services.document));
  },
};

/** `default-src` covers neither the base, nor where forms go, nor who may put the page into a frame. */
const docsPolicy = [
  "default-src 'none'",
  `style-src '${docsStyleHash}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The document does not change while the program runs. */
let yaml: Promise<string> | undefined;
let page: string | undefined;

const CHECK_MS_MAX = 2000;

/** A probe has to answer while something it asks about does not. */
function withinLimit(world: Call['services']['world'], check: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new Error(`no answer within ${CHECK_MS_MAX} ms`));
    const cancel = world.clock.timer(CHECK_MS_MAX, late);
    check.then(resolve, reject).finally(cancel);
  });
}

async function getReady({ services, reply }: Call): Promise<unknown> {
  const { world, version } = services;
  const checks = await Promise.all(
    Object.entries(services.checks).map(async ([name, check]) => {
      const began = performance.now();
      const durationMs = (): number => Math.round((performance.now() - began) * 1000) / 1000;
      try {
        await withinLimit(world, check());
        return { name, ok: true, durationMs: durationMs() };
      } catch (error) {
        world.log.error({ err: error, check: name }, 'not ready');
        // The cause stays in the log: this answer needs no credential.
        return { name, ok: false, durationMs: durationMs(), error: `${name} does not answer as it should` };
      }
    }),
  );
  const failed = checks.filter((check) => !check.ok).map((check) => check.name);
  const body = {
    status: failed.length === 0 ? 'ok' : 'degraded',
    version,
    env: world.config.instance.env,
    checks,
    failed,
  };
  if (failed.length === 0) return body;
  reply.code(503);
  return { ...body, statusCode: 503, name: 'service_unavailable', message: `Not ready: ${failed.join(', ')}.` };
}
