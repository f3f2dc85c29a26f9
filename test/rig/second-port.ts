import { loadContract, type OpenApiDocument } from '../../src/contract/index.ts';
import { createModelHealth } from '../../src/features/ai/ask-model.ts';
import { noPayments } from '../../src/features/billing/subscriptions.ts';
import { createAccept } from '../../src/mail/accept/index.ts';
import { createDoctor } from '../../src/features/installation/doctor/doctor.ts';
import { createNode } from '../../src/features/installation/upkeep/node.ts';
import { createListeners } from '../../src/features/webhooks/delivery/listeners.ts';
import { createAuthenticators, startHttp, type Authenticator, type HttpPort } from '../../src/ports/http/index.ts';
import type { Scene } from './scene.ts';

/** Starts the HTTP port once more over the scene's world, with another contract or with further kinds of credentials. */
export function startSecondPort(
  { app: { world, tracking } }: Scene,
  { document = loadContract(), authenticators = [] }: { document?: OpenApiDocument; authenticators?: Authenticator[] },
): Promise<HttpPort> {
  if (!tracking) throw new Error('the scene does not run the role tracking');
  const node = createNode(world, { version: 'test', roles: [] });
  const parts = {
    world: { ...world, config: { ...world.config, http: { ...world.config.http, port: 0 } } },
    document,
    version: 'test',
    checks: {},
    tracking,
    accept: createAccept(world, () => undefined),
    wakeQueue: () => undefined,
    syncDelivery: () => Promise.resolve(),
    node,
    doctor: createDoctor(world, {
      self: { pid: process.pid, tls: () => undefined, isReceiving: false },
      loadFindings: node.reloadReport,
    }),
    listeners: createListeners(world),
    payments: noPayments,
    modelHealth: createModelHealth(world),
  };
  return startHttp({ ...parts, authenticators: [...authenticators, ...createAuthenticators(world)] });
}
