import { writeFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { setSending } from '../../src/tenancy/instance/index.ts';
import type { Role } from '../../src/app.ts';
import { happen, hookAt } from '../flow/webhook-scene.ts';
import { startScene, type Scene, type Team } from './scene.ts';
import { makeCertificate } from './tls.ts';
import { sceneFor, startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts';

/** An installation on which things can be made to go wrong, each as it does in practice. */
export interface Trouble extends AsyncDisposable {
  scene: Scene;
  team: Team;
  token: string;
  /** The port of another program. */
  takenPort: number;
  /** Returns the function that reverses it, as the others do. */
  switchSendingOff(reason?: string): Promise<() => Promise<void>>;
  hold(what: { team_id: string } | { destination: string } | { email_id: string }): Promise<() => Promise<void>>;
  /** Creates an endpoint that answers 500 to everything, for longer than a minute. */
  failingWebhook(team?: Team): Promise<Mendable>;
  /** Creates a verified domain whose DKIM record was found missing in a check that long ago. */
  losingDomain(team?: Team, forMs?: number): Promise<Mendable & { name: string }>;
}

export interface TroubleOptions {
  /** Starts with a port that another program has, and an expired certificate. */
  isBadFromTheStart?: boolean;
  roles?: readonly Role[];
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

export async function startTrouble({ isBadFromTheStart = false, roles }: TroubleOptions = {}): Promise<Trouble> {
  const receiver = await startWebhookReceiver();
  const other = net.createServer();
  await new Promise<void>((done) => other.listen(0, '127.0.0.1', done));
  const takenPort = (other.address() as AddressInfo).port;
  const expired = makeCertificate({ names: ['rasket.test'], notAfter: new Date(Date.now() - 1000) });
  const bad = {
    tls: { certificate_file: 'expired.pem' },
    submission: { ports: [takenPort], tls_ports: [0] },
    receiving: { ports: [] },
  };
  const scene = await startScene(
    sceneFor(receiver, {
      roles: roles ?? (isBadFromTheStart ? ['http', 'delivery', 'submission'] : ['http', 'delivery']),
      config: isBadFromTheStart ? bad : {},
      prepare: (dataDir) => writeFileSync(path.join(dataDir, 'expired.pem'), expired.key + expired.cert),
    }),
  );
  receiver.publishIn(scene.dns);
  const team = await scene.team();
  const token = await scene.operator();
  const close = async (): Promise<void> => {
    await scene.close();
    await receiver.close();
    await new Promise<void>((done) => other.close(() => done()));
  };
  return {
    scene,
    team,
    token,
    takenPort,
    failingWebhook: (of = team) => failingWebhook(scene, of, receiver),
    losingDomain: (of = team, forMs = 0) => losingDomain(scene, of, forMs),
    async switchSendingOff(reason) {
      await setSending(scene.app.world, { isOn: false, reason });
      return () => setSending(scene.app.world, { isOn: true });
    },
    async hold(what) {
      const body = { ...what, reason: 'Their server is being moved' };
      const made = await scene.api('POST', '/operator/queue/holds', { key: token, body });
      return async () => void (await scene.api('DELETE', `/operator/queue/holds/${made.body.id}`, { key: token }));
    },
    [Symbol.asyncDispose]: close,
  };
}

interface Mendable {
  id: string;
  mend: () => Promise<void>;
}

async function failingWebhook(scene: Scene, team: Team, receiver: WebhookReceiver): Promise<Mendable> {
  const place = `/trouble-${receiver.requests.length}`;
  const { id } = await hookAt(scene, team, receiver.url(place));
  receiver.reply(500, place);
  await happen(scene, team);
  await scene.settled();
  scene.clock.advance(MINUTE_MS);
  await scene.settled();
  return {
    id,
    async mend() {
      receiver.reply(200, place);
      scene.clock.advance(DAY_MS);
      await scene.settled();
    },
  };
}

async function losingDomain(scene: Scene, team: Team, forMs: number): Promise<Mendable & { name: string }> {
  const { key } = team;
  const { id, name } = await team.domain();
  const look = async (): Promise<void> => {
    scene.clock.advance(MINUTE_MS);
    await scene.api('POST', `/domains/${id}/verify`, { key });
  };
  const { body } = await scene.api('GET', `/domains/${id}`, { key });
  const dkim = body.records.find((record: { record: string }) => record.record === 'DKIM');
  scene.dns.set(dkim.name, 'TXT', 'NXDOMAIN');
  await look();
  if (forMs > 0) {
    scene.clock.advance(forMs);
    await look();
  }
  return {
    id,
    name,
    async mend() {
      scene.dns.set(dkim.name, 'TXT', [dkim.value.match(/.{1,255}/g) ?? []]);
      await look();
    },
  };
}
