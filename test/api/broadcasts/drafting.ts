import type { ApiAnswer } from '../../rig/api.ts';
import type { Scene, Team } from '../../rig/scene.ts';

/** A team that may send broadcasts, and a body without errors. */
export interface Desk {
  team: Team;
  domain: { id: string; name: string };
  segment: string;
  draft: { from: string; subject: string; segment_id: string; html: string };
  call(method: string, path: string, body?: unknown): Promise<ApiAnswer>;
  make(change?: object): Promise<string>;
  get(id: string): Promise<ApiAnswer['body']>;
}

export const ADDRESS = { line1: 'Musterstraße 1', city: 'Berlin', postal_code: '10115', country: 'DE' };

export async function openDesk(scene: Scene): Promise<Desk> {
  const team = await scene.team();
  const call = (method: string, path: string, body?: unknown) =>
    scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });
  const domain = await team.domain();
  await call('PATCH', '/team', { sender_name: 'Example GmbH', postal_address: ADDRESS });
  const segment = (await call('POST', '/segments', { name: 'Readers' })).body.id as string;
  const draft = {
    from: `News <news@${domain.name}>`,
    subject: 'What is new',
    segment_id: segment,
    html: '<p>Hello {{{FIRST_NAME|friend}}}</p>',
  };
  return {
    team,
    domain,
    segment,
    draft,
    call,
    make: async (change = {}) => (await call('POST', '/broadcasts', { ...draft, ...change })).body.id as string,
    get: async (id) => (await call('GET', `/broadcasts/${id}`)).body,
  };
}

/** Returns status and name of a refusal. */
export const said = ({ status, body }: ApiAnswer): [number, string] => [status, body.name];
