import type { Scene, Team } from '../../rig/scene.ts';

export interface SentEmail {
  id: string;
  from: string;
}

/** Sends an email with the given fields. */
export async function sendOne(scene: Scene, team: Team, fields: Record<string, unknown> = {}): Promise<SentEmail> {
  const domain = await team.domain();
  const from = `Billing <billing@${domain.name}>`;
  const body = { from, to: ['x@example.org'], subject: 'Your receipt', html: '<p>Thank you.</p>', ...fields };
  const answer = await scene.api('POST', '/emails', { key: team.key, body });
  if (answer.status !== 200) throw new Error(`the email was refused: ${answer.text}`);
  return { id: answer.body.id as string, from };
}

/** Creates a share link and returns its path. */
export async function share(scene: Scene, team: Team, emailId: string, body?: object): Promise<string> {
  const answer = await scene.api('POST', `/emails/${emailId}/share`, { key: team.key, body });
  if (answer.status !== 200) throw new Error(`no link was made: ${answer.text}`);
  return new URL(answer.body.url as string).pathname;
}

const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };
const SRCDOC = / srcdoc="([^"]*)"/;

/** Returns the document inside the frame, as a browser reads it from the attribute. */
export const framed = (page: string): string =>
  (SRCDOC.exec(page)?.[1] ?? '').replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? '');

/** Returns the page without the document inside its frame. */
export const unframed = (page: string): string => page.replace(SRCDOC, ' srcdoc=""');
