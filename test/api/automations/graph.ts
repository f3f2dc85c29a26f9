import type { Scene, Team } from '../../rig/scene.ts';

export interface Graph {
  steps: unknown[];
  connections: unknown[];
}

/** Returns the graph of these steps, each connected to the next. */
export const line = (...steps: { key: string }[]): Graph => ({
  steps,
  connections: steps.slice(1).map(({ key }, i) => ({ from: steps[i]?.key, to: key })),
});

export const start = { key: 'start', type: 'trigger', config: { event_name: 'order' } };
export const step = (key: string, type: string, config: object) => ({ key, type, config });
export const wait = (key: string, duration = '1 day') => step(key, 'delay', { duration });

/** Objects that graphs of a team may name. */
export interface Supplies {
  team: Team;
  event: string;
  template: string;
  draft: string;
  segment: string;
  topic: string;
  contact: string;
  /** The domain from which the team may send. */
  domain: string;
}

export async function supply(scene: Scene): Promise<Supplies> {
  const team = await scene.team();
  const domain = await team.domain();
  const make = async (path: string, body: object): Promise<string> => {
    const answer = await scene.api('POST', path, { key: team.key, body });
    if (answer.status !== 201) throw new Error(answer.text);
    return answer.body.id as string;
  };
  const variables = [
    { key: 'PRODUCT', type: 'string' },
    { key: 'TOTAL', type: 'number', fallback_value: 0 },
  ];
  const content = {
    from: `Shop <shop@${domain.name}>`,
    subject: 'Thanks',
    html: '<p>{{{PRODUCT}}} {{{TOTAL}}}</p>',
    variables,
  };
  const event = await make('/events', { name: 'order' });
  const template = await make('/templates', { name: 'Thanks', alias: 'thanks', ...content });
  await scene.api('POST', `/templates/${template}/publish`, { key: team.key });
  const draft = await make('/templates', { name: 'Draft', html: '<p>x</p>' });
  await make('/contact-properties', { key: 'plan', type: 'string' });
  await make('/contact-properties', { key: 'seats', type: 'number' });
  return {
    team,
    event,
    template,
    draft,
    domain: domain.name,
    segment: await make('/segments', { name: 'Buyers' }),
    topic: await make('/topics', { name: 'News', default_subscription: 'opt_out' }),
    contact: await make('/contacts', { email: 'ada@example.org' }),
  };
}
