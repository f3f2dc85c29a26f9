import { receiveMail } from '../rig/received-mail.ts';
import { createOauth, type OauthApp } from '../rig/oauth.ts';
import { createPeople } from '../rig/people.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { sceneFor, startWebhookReceiver, type WebhookReceiver } from '../rig/webhook-receiver.ts';

/** The things that a script needs and that no client can create: each value is a string, so that a recording can name it. */
export interface Fixtures {
  /** A verified domain. */
  domain: string;
  /** An email that was received, with one attachment. */
  received: string;
  /** A domain that another team has verified. */
  claimable: string;
  /** An endpoint that answers. */
  endpoint: string;
  /** A webhook to which one event was delivered. */
  hook: string;
  /** Two times in the future. */
  in_an_hour: string;
  in_two_hours: string;
}

/** A signed delivery as the endpoint got it, for the functions that verify signatures. */
export interface SignedDelivery {
  payload: string;
  id: string;
  timestamp: string;
  signature: string;
  secret: string;
}

export interface ClientScene extends AsyncDisposable {
  scene: Scene;
  receiver: WebhookReceiver;
  /** An app that a person of every team lets in. */
  app: OauthApp;
}

/** A server with an endpoint for webhooks that it may reach. */
export async function startClientScene(trustedCa: readonly string[] = []): Promise<ClientScene> {
  const receiver = await startWebhookReceiver();
  const scene = await startScene(sceneFor(receiver, { trustedCa }));
  receiver.publishIn(scene.dns);
  return {
    scene,
    receiver,
    app: await createOauth(scene).register(),
    async [Symbol.asyncDispose]() {
      await scene.close();
      await receiver.close();
    },
  };
}

/** Makes a team with everything that the calls of a client find there. */
export async function prepareTeam({
  scene,
  receiver,
  app,
}: ClientScene): Promise<{ team: Team; fixtures: Fixtures; delivery: SignedDelivery }> {
  const team = await scene.team();
  const { name: domain } = await team.domain();
  const body = {
    sender_name: 'Acme',
    postal_address: { line1: 'Street 1', city: 'Berlin', country: 'DE' },
  };
  await scene.api('PATCH', '/team', { key: team.key, body });
  const owner = await createPeople(scene).person({ team, role: 'owner' });
  await createOauth(scene).letIn(owner, app);
  const other = await scene.team();
  const { hook, delivery } = await receiveSignedDelivery(scene, receiver, team);
  const fixtures: Fixtures = {
    hook,
    domain,
    received: await receiveMail(scene, team),
    claimable: (await other.domain()).name,
    endpoint: receiver.url('/hook'),
    in_an_hour: new Date(scene.clock.now() + 3_600_000).toISOString(),
    in_two_hours: new Date(scene.clock.now() + 7_200_000).toISOString(),
  };
  return { team, fixtures, delivery };
}

/** Makes an endpoint of the team that has received one event. */
async function receiveSignedDelivery(
  scene: Scene,
  receiver: WebhookReceiver,
  { id, key }: Team,
): Promise<{ hook: string; delivery: SignedDelivery }> {
  const path = `/signed-${id}`;
  const body = { endpoint: receiver.url(path), events: ['domain.created'] };
  const { body: hook } = await scene.api('POST', '/webhooks', { key, body });
  await scene.api('POST', '/webhooks/trigger', { key, body: { type: 'domain.created' } });
  const [delivery] = await receiver.until(1, path);
  if (delivery === undefined) throw new Error('the endpoint received nothing');
  const header = (name: string): string => String(delivery.headers[name]);
  return {
    hook: hook.id as string,
    delivery: {
      payload: delivery.body,
      id: header('svix-id'),
      timestamp: header('svix-timestamp'),
      signature: header('svix-signature'),
      secret: hook.signing_secret as string,
    },
  };
}
