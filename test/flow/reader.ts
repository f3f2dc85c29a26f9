import http from 'node:http';
import PostalMime from 'postal-mime';
import { expect } from 'vitest';
import type { SeenEvent } from '../rig/events.ts';
import { publish, type Scene, type Team } from '../rig/scene.ts';

export const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

export interface Fetched {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: Buffer;
}

/** Follows an address of a mail to the server behind it, as a reader's program does; null takes a header away. */
export function follow(
  server: string,
  address: string,
  how: { method?: string; headers?: Record<string, string | null> } = {},
): Promise<Fetched> {
  const { hostname, port } = new URL(server);
  const [, host = '', path = ''] = /^https?:\/\/([^/]*)(.*)$/.exec(address) ?? [];
  const usual: Record<string, string | null> = { host, 'user-agent': BROWSER, ...how.headers };
  const headers = Object.fromEntries(Object.entries(usual).filter(([, value]) => value !== null)) as Record<
    string,
    string
  >;
  return new Promise((resolve, reject) => {
    const request = http.request({ hostname, port, path, method: how.method ?? 'GET', headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    request.on('error', reject);
    request.end();
  });
}

/** A verified domain that tracks opens and clicks. */
export async function trackingDomain(scene: Scene, team: Team): Promise<{ id: string; name: string }> {
  const domain = await team.domain();
  await publishTracking(scene, team, domain.id, { open_tracking: true, click_tracking: true });
  return domain;
}

/** Changes a domain's tracking, publishes the record that this asks for, and lets it be looked up. */
export async function publishTracking(scene: Scene, team: Team, id: string, change: object): Promise<void> {
  const set = (body: object) => scene.api('PATCH', `/domains/${id}`, { key: team.key, body });
  expect((await set(change)).status).toBe(200);
  publish(scene.dns, (await scene.api('GET', `/domains/${id}`, { key: team.key })).body);
  scene.clock.advance(61_000);
  expect((await scene.api('POST', `/domains/${id}/verify`, { key: team.key })).status).toBe(200);
}

export interface Arrived {
  id: string;
  data: Buffer;
  html: string;
  text: string;
  /** The targets of its links, in order. */
  links: string[];
  pixel: string | undefined;
}

/** Sends, and answers what arrived, long enough ago to be read. */
export async function sendHtml(
  scene: Scene,
  team: Team,
  domain: { name: string },
  fields: Record<string, unknown>,
): Promise<Arrived> {
  const body = { from: `A <a@${domain.name}>`, to: 'x@example.org', subject: 'Hello', ...fields };
  const sent = await scene.api('POST', '/emails', { key: team.key, body });
  expect(sent.status).toBe(200);
  const { id } = sent.body as { id: string };
  await scene.settled();
  scene.clock.advance(3000);
  const data = scene.sink.messages.find((message) => message.data.includes(id))?.data;
  if (!data) throw new Error(`email ${id} did not arrive`);
  return { id, data, ...(await readMail(data)) };
}

export async function readMail(data: Buffer): Promise<Omit<Arrived, 'id' | 'data'>> {
  const mail = await PostalMime.parse(data);
  const html = mail.html ?? '';
  const links = [...html.matchAll(/href=["']([^"']*)/g)].map((match) => match[1] ?? '');
  return { html, text: mail.text ?? '', links, pixel: /<img src="([^"]*\.gif)"/.exec(html)?.[1] };
}

/** A click waits this long for other clicks in its email. */
const CLICK_WAITS_MS = 7000;

/** Lets everything that was opened and clicked up to now become events. */
export async function letReadingsSettle(scene: Scene): Promise<void> {
  await scene.app.tracking?.settled();
  scene.clock.advance(CLICK_WAITS_MS);
  await scene.app.tracking?.settled();
}

/** Returns the recorded openings and clicks, oldest first; seven seconds later, when clicks are judged. */
export async function engagements(scene: Scene, emailId: string): Promise<SeenEvent[]> {
  await letReadingsSettle(scene);
  const events = await scene.events(emailId);
  return events.filter(({ type }) => type === 'email.opened' || type === 'email.clicked');
}

/** Seals what this installation would, for tokens that no mail of it holds. */
export const createMac =
  (scene: Scene, purpose: string) =>
  (bytes: Buffer): Buffer =>
    scene.app.world.secrets.mac(purpose, bytes);

/** The path of a link as mail had it before links named their domain. */
export function olderClickPath(scene: Scene, emailId: string, target: string): string {
  const content = Buffer.concat([Buffer.from(emailId.replaceAll('-', ''), 'hex'), Buffer.from(target)]);
  const mac = createMac(scene, 'click')(content).subarray(0, 12);
  return `/c/${Buffer.concat([mac, content]).toString('base64url')}`;
}

/** The same of a pixel. */
export function olderPixelPath(scene: Scene, emailId: string): string {
  const content = Buffer.from(emailId.replaceAll('-', ''), 'hex');
  const mac = createMac(scene, 'open')(content).subarray(0, 12);
  return `/o/${Buffer.concat([mac, content]).toString('base64url')}.gif`;
}
