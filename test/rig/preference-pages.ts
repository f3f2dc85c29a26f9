import http from 'node:http';
import { buildUnsubscribeLinks } from '../../src/features/audience/contacts/preference-links.ts';
import { findLinkOrigin } from '../../src/mail/domains/index.ts';
import type { Scene, Team } from './scene.ts';

export interface Visited {
  status: number;
  headers: http.IncomingHttpHeaders;
  html: string;
  /** The text that a reader sees, without tags. */
  text: string;
  /** The buttons, each with the fields it sends. */
  forms: { action: string; does: string; fields: [string, string][] }[];
}

export interface Visit {
  method?: string;
  body?: string;
  headers?: Record<string, string>;
}

/** Opens a link as a browser or a mail program does, with no header of the API. */
export function visit(scene: Scene, address: string, { method, body, headers = {} }: Visit = {}): Promise<Visited> {
  const { hostname, port } = new URL(scene.url);
  const { host, pathname, search } = new URL(address, scene.url);
  const type = body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' };
  const how = {
    hostname,
    port,
    path: pathname + search,
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { host, ...type, ...headers },
  };
  return new Promise((resolve, reject) => {
    const request = http.request(how, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const html = Buffer.concat(chunks).toString('utf8');
        resolve({ status: response.statusCode ?? 0, headers: response.headers, html, ...readPage(html) });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

function readPage(html: string): Pick<Visited, 'text' | 'forms'> {
  const text = html
    .replace(/<title>.*?<\/title>|<style>[^]*?<\/style>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const forms = [...html.matchAll(/<form method="post" action="([^"]*)">([^]*?)<\/form>/g)].map(([, action, inner]) => {
    const inputs = [...(inner ?? '').matchAll(/<input ([^>]*)>/g)].map(([, attributes = '']) => attributes);
    const fields = inputs
      .filter((input) => !input.includes('type="checkbox"') || input.includes(' checked'))
      .map((input): [string, string] => [valueIn(input, 'name'), valueIn(input, 'value')]);
    return { action: action ?? '', does: fields.find(([name]) => name === 'do')?.[1] ?? '', fields };
  });
  return { text, forms };
}

const valueIn = (input: string, name: string): string => new RegExp(`\\b${name}="([^"]*)"`).exec(input)?.[1] ?? '';

/** Clicks the button that does this; `change` returns the checked and unchecked boxes. */
export function press(
  scene: Scene,
  page: Visited,
  does: string,
  change: { tick?: string; untick?: string } = {},
): Promise<Visited> {
  const form = page.forms.find((one) => one.does === does);
  if (!form) throw new Error(`there is no button for ${does}: ${page.text}`);
  const fields = form.fields.filter(([name, value]) => name !== 'topic' || value !== change.untick);
  if (change.tick !== undefined) fields.push(['topic', change.tick]);
  return visit(scene, form.action, { body: new URLSearchParams(fields).toString() });
}

/** Returns the links in a mail to a contact, as a broadcast would write them. */
export async function linksTo(
  scene: Scene,
  team: Team,
  contact: { id: string; email: string },
  { topicId = null, domainId, emailId }: { topicId?: string | null; domainId?: string; emailId?: string } = {},
) {
  const { world } = scene.app;
  const origin = domainId === undefined ? scene.url : await findLinkOrigin(world, domainId);
  const row = { id: contact.id, team_id: team.id, email_key: contact.email.toLowerCase() };
  const { variables, headers } = buildUnsubscribeLinks(world, origin, {
    contact: row,
    topicId,
    emailId: emailId ?? null,
  });
  return { unsubscribe: variables.UNSUBSCRIBE_URL, preferences: variables.PREFERENCES_URL, headers };
}
