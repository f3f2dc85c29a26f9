import type { World } from '../../../platform/world.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  addWebhook,
  mustAllowWebhook,
  readEndpoint,
  changeWebhook,
  type NewWebhook,
  type WebhookUpdate,
} from '../endpoints/webhooks.ts';
import { findWebhook } from '../endpoints/webhooks.store.ts';
import { notFound, refuse, type Refusal } from '../../../platform/refusal.ts';
import type { Config } from '../../../platform/config/index.ts';
import type { FetchFailure } from '../../../platform/fetch/index.ts';

const PATH = 'endpoint';
const CONNECT_SECONDS = 5;

/**
 * Connects to an endpoint, up to the TLS handshake: nothing is posted before there is an event. With
 * `webhooks.check_connection` off it only checks that the host has no private address, and a host whose address is not
 * known yet passes. Every delivery checks the address again, because a name may lead elsewhere by then.
 */
async function mustBeReachable(world: World, url: URL): Promise<void> {
  const stop = new AbortController();
  const cancel = world.clock.timer(CONNECT_SECONDS * 1000, () => stop.abort());
  try {
    const { webhooks, profile } = world.config;
    const failed = webhooks.check_connection
      ? await world.fetch.probe(url, stop.signal)
      : await world.fetch.checkAddress(url, stop.signal);
    if (failed === undefined || (!webhooks.check_connection && failed.fault.kind !== 'blocked')) return;
    throw unreachable(inWords(failed, { isTls: url.protocol === 'https:', profile }), failed.because);
  } finally {
    cancel();
  }
}

function unreachable(reason: string, because: unknown): Refusal {
  const message = `${PATH} cannot be used: ${reason}`;
  return refuse('validation_error', { status: 422, say: message, errors: [{ path: PATH, message }], because });
}

/** Node.js's codes for a certificate whose issuer it does not trust. */
const UNKNOWN_ISSUERS: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
const TRUSTED = ' To trust a private issuer, start the server with NODE_EXTRA_CA_CERTS=/path/ca.pem.';

const SWITCH =
  ' To allow endpoints whose server does not run yet, the operator of this installation sets webhooks.check_connection = false.';

/** Outside development, a name that does not exist and one that leads into a private network read alike, or that network could be mapped. */
function inWords(
  { fault, hasNoAddress }: FetchFailure,
  { isTls, profile }: { isTls: boolean; profile: Config['profile'] },
): string {
  const connection = isTls ? 'TLS connection' : 'connection';
  switch (fault.kind) {
    case 'blocked':
      if (profile !== 'development') {
        return 'its host has no public address; it must resolve to an address that can be reached from the internet.';
      }
      return hasNoAddress
        ? 'its host cannot be resolved: the name has no address; correct the name, or add an address to it in the DNS.'
        : 'its host has an address in a private network; allow its range with network.http_allow_private (RASKET_NETWORK_HTTP_ALLOW_PRIVATE).';
    case 'tls':
      return `its server has no TLS certificate that is valid for this host (${fault.code}).${UNKNOWN_ISSUERS.has(fault.code) ? TRUSTED : ''}${SWITCH}`;
    case 'timeout':
      return `its server accepted no ${connection} within ${CONNECT_SECONDS} seconds.${SWITCH}`;
    default:
      return `its server cannot be reached; it must accept ${connection}s on the port of the URL.${SWITCH}`;
  }
}

export async function updateWebhook(ctx: Ctx<World>, id: string, input: WebhookUpdate) {
  if (input.endpoint !== undefined) {
    const { store: world, teamId } = ctx;
    const url = readEndpoint(world.config, input.endpoint);
    // Checked first: no caller can make us connect for an endpoint that is not its own.
    if (!(await findWebhook(world.db, teamId, id))) throw notFound('Webhook');
    await mustBeReachable(world, url);
  }
  return changeWebhook(ctx, id, input);
}

export async function createWebhook(ctx: Ctx<World>, input: NewWebhook) {
  const { store: world, teamId } = ctx;
  const url = readEndpoint(world.config, input.endpoint);
  // Checked before the slow connection, and again when the endpoint is added.
  await mustAllowWebhook(world, world.db, teamId);
  await mustBeReachable(world, url);
  return addWebhook(ctx, input);
}
