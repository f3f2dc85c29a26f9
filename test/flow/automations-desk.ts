import { line, start, step, type Supplies } from '../api/automations/graph.ts';
import type { Scene } from '../rig/scene.ts';

/** Returns the calls that a team makes for its automations. */
export function desk(scene: Scene, has: Supplies) {
  const call = (method: string, path: string, body?: unknown) =>
    scene.api(method, path, { key: has.team.key, ...(body === undefined ? {} : { body }) });
  const must = async (method: string, path: string, body?: unknown) => {
    const answer = await call(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer.body;
  };
  const get = async (path: string) => must('GET', path);
  return {
    call,
    must,
    get,
    automate: async (...steps: { key: string }[]): Promise<string> =>
      (await must('POST', '/automations', { name: 'A', status: 'enabled', ...line(start, ...steps) })).id as string,
    send: (payload: object = {}, contact = has.contact) =>
      must('POST', '/events/send', { event: 'order', contact_id: contact, payload }),
    /** The newest run, with its steps by their keys. */
    async run(automation: string) {
      const [{ id }] = (await get(`/automations/${automation}/runs`)).data;
      const run = await get(`/automations/${automation}/runs/${id}`);
      const steps = run.steps as { key: string; status: string; output: object | null; error: object | null }[];
      return { ...run, by: Object.fromEntries(steps.map((one) => [one.key, one])) } as {
        id: string;
        status: string;
        started_at: string | null;
        completed_at: string | null;
        by: Record<string, { status: string; output: Record<string, unknown> | null; error: object | null }>;
      };
    },
  };
}

export const mail = (
  key: string,
  has: Supplies,
  variables: object = { PRODUCT: { var: 'event.product' } },
  more: object = {},
) => step(key, 'send_email', { template: { id: has.template, variables }, ...more });
export const arrived = (scene: Scene, subject: string): string[] =>
  scene.sink.messages.filter(({ data }) => data.includes(`Subject: ${subject}\r\n`)).flatMap(({ rcptTo }) => rcptTo);
