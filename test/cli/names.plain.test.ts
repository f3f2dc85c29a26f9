// A word names a thing by its whole id, its name, the end of its id, or by `latest` when the thing is only read.
import { describe, expect, it } from 'vitest';
import { everyFamily } from '../../cli/output/index.ts';
import { NAMED, namedBy as fieldNamed } from '../../cli/families/named.ts';
import { listOperations, loadContract, resolveRef } from '../../src/contract/index.ts';
import type { Asked, Reply } from './contract-server.ts';
import { speak } from './spoken.ts';

const contract = loadContract();
const operations = new Map(listOperations(contract).map((entry) => [entry.operationId as string, entry]));

/** A domain is none of the lists: it is typed as it is. */
const BY_NAME_ALONE = new Set(['verifySsoDomain domain', 'removeSsoDomain domain']);

const findExample = (operation: string): Record<string, unknown> => {
  const [, response] = Object.entries(operations.get(operation)?.operation.responses ?? {})[0] ?? [];
  const content = response && resolveRef(contract, response).content?.['application/json'];
  return structuredClone((content as { example?: Record<string, unknown> } | undefined)?.example ?? {});
};

const buildId = (like: string, end: string): string =>
  like.includes('_')
    ? `${like.split('_')[0]}_019a9c1e7d527c3a9a54${end.padStart(12, '0')}`
    : `019a9c1e-7d52-7c3a-9a54-${end.padStart(12, '0')}`;

const isCallTo = (operation: string, { method, path }: Asked): boolean => {
  const entry = operations.get(operation);
  return (
    entry?.method === method.toLowerCase() && new RegExp(`^${entry.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path)
  );
};

const TEAM = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e11';

/** Lists three items, of which two ids have an end in common, and answers what the contract says to everything else. */
function answering(parameter: string): { answer: (asked: Asked) => Reply; ids: string[]; name: string | undefined } {
  const named = NAMED[parameter];
  if (!named) throw new Error(`${parameter} names nothing`);
  const [item = {}] = (findExample(named.list)['data'] ?? []) as Record<string, unknown>[];
  const ids = ['aaaa11112222', 'bbbb33334444', 'cccc55554444'].map((end) => buildId(String(item['id']), end));
  const name = named.by === undefined || named.taken ? undefined : (named.listNames(item as never)[0] ?? undefined);
  const items = ids.map((id) => ({ ...item, id, ...(named.partOf && { [named.partOf]: id }) }));
  const data = items.map((one, at) => (at === 0 ? one : renamed(one, name, at)));
  return {
    ids,
    name,
    answer(asked) {
      if (asked.path === '/auth/session')
        return { status: 200, body: { object: 'session', user: {}, current_team: { id: TEAM } } };
      if (isCallTo(named.list, asked)) return { status: 200, body: { object: 'list', has_more: false, data } };
      return { status: 404, body: { statusCode: 404, name: 'not_found', message: 'Not found.' } };
    },
  };
}

/** Everything that was called so is called otherwise. */
const renamed = (item: object, name: string | undefined, at: number): object =>
  name === undefined ? item : (JSON.parse(JSON.stringify(item).replaceAll(name, `other-${at}`)) as object);

interface Place {
  words: string[];
  operation: string;
  parameters: string[];
}

/** The commands that show one thing of a family, and those that list things of one. */
const places: Place[] = everyFamily.flatMap(({ command, get, list }) =>
  [get, list].flatMap((one) =>
    one && Object.keys(one.path).length > 0
      ? [{ words: [command, one.verb], operation: one.operation, parameters: Object.keys(one.path) }]
      : [],
  ),
);

/** A whole id for each word before the last. */
const before = ({ parameters }: Place): string[] =>
  parameters.slice(0, -1).map((_, at) => buildId('x-', `${at}`.repeat(12)));

async function namedBy(
  place: Place,
  word: string,
): Promise<{ lookedUp: number; reached: string | undefined } & Awaited<ReturnType<typeof speak>>> {
  const parameter = place.parameters.at(-1) ?? '';
  const { answer } = answering(parameter);
  const heard = await speak([...place.words, ...before(place), word], answer);
  const { list } = NAMED[parameter] ?? {};
  const reached = heard.asked.find((asked) => isCallTo(place.operation, asked));
  const lookedUp = heard.asked.filter((asked) => isCallTo(list ?? '', asked)).length;
  return { ...heard, lookedUp, reached: reached && decodeURIComponent(reached.path) };
}

describe('a word that names an object', () => {
  it('is supported for every path parameter, and every field with an id', () => {
    const unknown = everyFamily.flatMap(({ list, get, actions = [] }) =>
      [list, get, ...actions].flatMap((one) =>
        Object.keys(one?.path ?? {})
          .filter((parameter) => !NAMED[parameter] && !BY_NAME_ALONE.has(`${one?.operation} ${parameter}`))
          .map((parameter) => `${one?.operation} ${parameter}`),
      ),
    );
    expect([...new Set(unknown)]).toEqual([]);
    for (const field of ['segment_id', 'segments', 'topics', 'template.id', 'domain_id', 'api_key_id'])
      expect(NAMED[fieldNames(field)], field).toBeDefined();
  });

  const shown = places.map((place) => [place.words.join(' '), place] as const);
  it('is supported in more than thirty places', () => expect(shown.length).toBeGreaterThan(30));

  it.each(shown)('sends no other request for a whole id: %s', async (_, place) => {
    const { ids } = answering(place.parameters.at(-1) ?? '');
    const { asked } = await namedBy(place, ids[0] ?? '');
    expect(asked.filter(({ path }) => path !== '/auth/session')).toHaveLength(1);
  });

  it.each(shown)('may be the end of an id unless it fits two: %s', async (_, place) => {
    const { ids } = answering(place.parameters.at(-1) ?? '');
    expect((await namedBy(place, '11112222')).reached).toContain(ids[0]);
    expect((await namedBy(place, 'AAAA-1111-2222')).reached).toContain(ids[0]);
    const both = await namedBy(place, '4444');
    expect(both).toMatchObject({ code: 64, reached: undefined });
    expect(both.stderr).toContain('matches 4444; give the id of the one you mean:\n');
    for (const id of ids.slice(1)) expect(both.stderr).toContain(`  ${id.slice(-8)}  ${id}`);
    const none = await namedBy(place, 'dddd0000');
    if (!NAMED[place.parameters.at(-1) ?? '']?.isTakenByName)
      expect(none).toMatchObject({ code: 66, reached: undefined });
  });

  it.each(shown)('may be its name, or “latest”: %s', async (_, place) => {
    const parameter = place.parameters.at(-1) ?? '';
    const { ids, name } = answering(parameter);
    if (name !== undefined) {
      expect((await namedBy(place, name.toUpperCase())).reached).toContain(ids[0]);
    }
    const latest = await namedBy(place, 'latest');
    if (NAMED[parameter]?.isUnordered) expect(latest.code).not.toBe(0);
    else expect(latest.reached).toContain(ids[0]);
  });
});

describe('the end of an id in an unbounded list', () => {
  const LISTS = Object.entries(NAMED).filter(([, { hasIdEnd }]) => hasIdEnd);
  const findPlace = (parameter: string): Place =>
    places.find((place) => place.parameters.at(-1) === parameter) as Place;

  it.each(LISTS)('is looked up by the server in one request: %s', async (parameter, { list }) => {
    const { asked } = await namedBy(findPlace(parameter), '1111-2222');
    const questions = asked.filter((one) => isCallTo(list, one)).map(({ query }) => query);
    expect(questions[0]).toMatchObject({ id_end: '11112222' });
    expect(questions.filter((query) => 'id_end' in query)).toHaveLength(1);
  });

  it('names an email with several queued destinations once, by its id or that of each delivery', async () => {
    const { answer } = answering('queued_email_id');
    const [email = '', other = ''] = ['eeee0000eeee', 'ffff0000ffff'].map((end) => buildId('x-', end));
    const ofEmails = [
      { id: buildId('x-', 'aaaa11112222'), email_id: email },
      { id: buildId('x-', 'bbbb33334444'), email_id: email },
      { id: buildId('x-', 'cccc55556666'), email_id: other },
    ];
    for (const [end, meant] of [
      ['0000eeee', email],
      ['33334444', email],
      ['55556666', other],
    ] as const) {
      const { asked } = await speak(['queue', 'explain', end], (one) =>
        isCallTo('listQueuedDeliveries', one)
          ? { status: 200, body: { object: 'list', has_more: false, data: ofEmails } }
          : answer(one),
      );
      expect(asked.at(-1)?.path, end).toBe(`/operator/queue/emails/${meant}`);
    }
  });

  it('is reported as not in the queue for an email that left it', async () => {
    const { code, stderr } = await speak(['queue', 'explain', '0000eeee'], () => ({
      status: 200,
      body: { object: 'list', has_more: false, data: [] },
    }));
    expect(code).toBe(66);
    expect(stderr).toContain(
      'there is no email 0000eeee in the queue; for an email that has left the queue, give the full id.',
    );
  });

  it('with more than five candidates lists some with time, address and subject, and counts the others', async () => {
    const { answer } = answering('email_id');
    const seven = (asked: Asked): Reply => {
      if (!isCallTo('listEmails', asked)) return answer(asked);
      const data = Array.from({ length: 7 }, (_, n) => ({
        id: buildId('x-', `${n}4444`),
        created_at: `2026-11-0${n + 1}T10:00:00.000Z`,
        to: ['ada@example.org'],
        subject: `Letter ${n}`,
        last_event: 'sent',
      }));
      return { status: 200, body: { object: 'list', has_more: false, data } };
    };
    const { code, stderr } = await speak(['emails', 'get', '4444'], seven);
    expect(code).toBe(64);
    expect(stderr.match(/T10:00:00\.000Z {2}ada@example\.org {2}Letter \d$/gm)).toHaveLength(5);
    expect(stderr).toContain('  and 2 more');
  });

  it('is reported as missing when the server has checked everything it can', async () => {
    const message = 'None of the newest 100000 emails has an id that ends in 4444; name an older one by its whole id.';
    const { code, stderr } = await speak(['emails', 'get', '4444'], () => ({
      status: 422,
      body: { statusCode: 422, name: 'invalid_parameter', message },
    }));
    expect({ code, stderr }).toEqual({ code: 66, stderr: `rasket: ${message}\n` });
  });
});

describe('the object of a change', () => {
  it('cannot be “latest”', async () => {
    const { answer } = answering('email_id');
    const { asked } = await speak(['emails', 'cancel', 'latest'], answer);
    expect(asked.map(({ path }) => path)).toEqual(['/emails/latest/cancel']);
  });

  it('can be given by its name, in fields too', async () => {
    const { answer, ids, name = '' } = answering('segment');
    const from = ['--from', 'a@example.com', '--subject', 'S', '--html', 'x'];
    const made = await speak(['broadcasts', 'create', ...from, '--segment', name], answer);
    expect(made.asked.at(-1)?.body).toMatchObject({ segment_ids: [ids[0]] });
    const added = await speak(['contacts', 'create', 'a@example.org', '--segment', '11112222'], answer);
    expect(added.asked.at(-1)?.body).toMatchObject({ segments: [ids[0]] });
    const topic = answering('topic_id');
    const chosen = await speak(
      ['contacts', 'set-topics', 'a@example.org', '--topic', `${topic.name}=opt_in`],
      topic.answer,
    );
    expect(chosen.asked.at(-1)?.body).toMatchObject({ topics: [{ id: topic.ids[0], subscription: 'opt_in' }] });
  });

  it('can be given by its name each time that an option is repeated', async () => {
    const segments = answering('segment');
    const broadcast = answering('broadcast_id');
    const both = (asked: Asked): Reply => (isCallTo('listBroadcasts', asked) ? broadcast : segments).answer(asked);
    const words = ['--from', 'a@example.com', '--subject', 'S', '--html', 'x'];
    const named = ['--segment', `${segments.name}`, '--segment', '33334444', '--exclude-segment', '55554444'];
    const earlier = ['--not-received-from', `${broadcast.name}`, '--not-opened', '33334444'];
    const { asked } = await speak(['broadcasts', 'create', ...words, ...named, ...earlier], both);
    expect(asked.at(-1)?.body).toMatchObject({
      segment_ids: segments.ids.slice(0, 2),
      exclude_segment_ids: [segments.ids[2]],
      not_received_from: [broadcast.ids[0]],
      received_but_not_opened: broadcast.ids[1],
    });
  });

  it('can be given by its name in the filters of a list, and a list can continue after the end of an id', async () => {
    const { answer, ids, name = '' } = answering('segment');
    const { asked } = await speak(['contacts', 'list', '--segment-id', name], answer);
    expect(asked.at(-1)?.query).toMatchObject({ segment_id: ids[0] });
    const emails = answering('email_id');
    const behind = await speak(['emails', 'list', '--after', '11112222'], emails.answer);
    expect(behind.asked.at(-1)?.query).toEqual({ after: emails.ids[0] });
  });
});

describe('two objects with one name', () => {
  it('are listed with their ids', async () => {
    const { answer, ids, name = '' } = answering('segment');
    const twice = (asked: Asked): Reply => {
      const reply = answer(asked);
      const { data } = reply.body as { data?: { id: string; name: string }[] };
      return data
        ? { ...reply, body: { ...(reply.body as object), data: data.map((one) => ({ ...one, name })) } }
        : reply;
    };
    const { code, stderr } = await speak(['segments', 'delete', name, '--yes'], twice);
    expect(code).toBe(64);
    for (const id of ids.slice(0, 2)) expect(stderr).toContain(`  ${id.slice(-8)}  ${id}  ${name}`);
  });
});

const fieldNames = (field: string): string => fieldNamed(field) ?? '';
