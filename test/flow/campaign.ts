import type { Scene, Team } from '../rig/scene.ts';

/** A team that may send broadcasts: a verified domain, a postal address, and a segment of everybody. */
export interface Campaign {
  team: Team;
  domain: { id: string; name: string };
  segmentId: string;
  /** Adds contacts by an import of rows, and answers how many there are. */
  addContacts(emails: readonly string[]): Promise<void>;
  /** Makes a broadcast; `send: true` unless `more` says otherwise. */
  broadcast(more?: Record<string, unknown>): Promise<string>;
  get(id: string): Promise<Record<string, unknown>>;
  call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown): ReturnType<Scene['api']>;
  /** Makes something and answers its id. */
  make(path: string, body: unknown): Promise<string>;
  read(path: string): Promise<Record<string, unknown>>;
  /** Addresses in a report, in any order. */
  reported(id: string, list: string): Promise<string[]>;
}

export const POSTAL_ADDRESS = {
  line1: '1 Mail Street',
  city: 'Berlin',
  state: 'BE',
  postal_code: '10115',
  country: 'DE',
};

export async function campaignIn(scene: Scene): Promise<Campaign> {
  const team = await scene.team();
  const domain = await team.domain();
  const call: Campaign['call'] = (method, path, body) =>
    scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });
  const must = async (...args: Parameters<Campaign['call']>): Promise<Record<string, unknown>> => {
    const { status, body, text } = await call(...args);
    if (status >= 300) throw new Error(`${args[0]} ${args[1]} was answered with ${status} ${text}`);
    return body as Record<string, unknown>;
  };
  await must('PATCH', '/team', { sender_name: 'Example Ltd', postal_address: POSTAL_ADDRESS });
  const segment = await must('POST', '/segments', {
    name: 'Everybody',
    filter: { field: 'email', op: 'contains', value: '@' },
  });
  return {
    team,
    domain,
    segmentId: segment.id as string,
    call,
    async addContacts(emails) {
      for (const email of emails) await must('POST', '/contacts', { email });
    },
    async broadcast(more = {}) {
      const made = await must('POST', '/broadcasts', {
        from: `Example <news@${domain.name}>`,
        subject: 'News',
        segment_id: segment.id,
        html: '<p>Hello {{{FIRST_NAME|reader}}}</p>',
        send: true,
        ...more,
      });
      return made.id as string;
    },
    make: async (path, body) => (await must('POST', path, body)).id as string,
    read: (path) => must('GET', path),
    get: (id) => must('GET', `/broadcasts/${id}`),
    async reported(id, list) {
      const found: string[] = [];
      for (let after = ''; ;) {
        const page = await must('GET', `/broadcasts/${id}/${list}${list.includes('?') ? '&' : '?'}limit=100${after}`);
        const rows = page.data as { id: string; email: string }[];
        found.push(...rows.map(({ email }) => email));
        if (page.has_more !== true) return found;
        after = `&after=${rows.at(-1)?.id}`;
      }
    },
  };
}
