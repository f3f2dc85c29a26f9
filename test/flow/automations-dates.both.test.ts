// dates in a property of contacts --> the job that starts runs at their hour, after pauses, restarts and beside another node
import { beforeEach, describe, expect, it } from 'vitest';
import { startDates, removeOldEnrolments } from '../../src/features/automations/start.ts';
import { overlaid } from '../../src/platform/db/index.ts';
import { line, step, supply, wait, type Supplies } from '../api/automations/graph.ts';
import { importedIn } from '../api/contact-imports/importing.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { arrived, desk, mail } from './automations-desk.ts';
import { HOUR, MINUTE } from './mail.ts';

const DAY = 24 * HOUR;
const MORNING = '2026-11-30T00:00:00Z';

let scene: Scene;
let has: Supplies;
let at: ReturnType<typeof desk>;
beforeEach(async () => {
  scene = await startScene({ startAt: MORNING });
  has = await supply(scene);
  at = desk(scene, has);
  await at.must('POST', '/contact-properties', { key: 'birthday', type: 'string' });
  await at.must('POST', '/contact-properties', { key: 'timezone', type: 'string' });
  await at.must('DELETE', `/contacts/${has.contact}`);
  return () => scene.close();
});

const onDates = (config: object = {}) => step('start', 'trigger', { date_property: 'birthday', ...config });
const make = async (config: object = {}, more: object = {}): Promise<string> => {
  const graph = line(onDates(config), wait('w', '4 weeks'));
  return (await at.must('POST', '/automations', { name: 'Birthday', status: 'enabled', ...graph, ...more }))
    .id as string;
};
let made = 0;
const born = async (birthday: string, timezone?: string): Promise<string> => {
  const properties = { birthday, ...(timezone !== undefined && { timezone }) };
  return (await at.must('POST', '/contacts', { email: `c${++made}@example.org`, properties })).id as string;
};
/** Moves the clock from hour to hour, with the job at each of them. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += HOUR) {
    scene.clock.advance(HOUR);
    await startDates(scene.app.world);
  }
}
const listRuns = async (id: string): Promise<{ contact_id: string; created_at: string }[]> =>
  (
    (await at.get(`/automations/${id}/runs?limit=100`)).data as { contact_id: string; created_at: string }[]
  ).toReversed();
const started = async (id: string) => (await listRuns(id)).map((run) => [run.contact_id, run.created_at.slice(0, 16)]);

describe('a date of a contact', () => {
  it('starts a run at the hour of its time zone on each anniversary, and none for other dates and other texts', async () => {
    const id = await make();
    const plain = await born('1990-11-30');
    const tokyo = await born('11-30', 'Asia/Tokyo');
    const losAngeles = await born('2001-11-30', 'America/Los_Angeles');
    await born('1990-12-02');
    const today = await born('2026-11-30');
    await born('30.11.1990');
    await pass(DAY);
    // In Tokyo it was nine o'clock when the automation was enabled.
    expect(await started(id)).toEqual([
      [plain, '2026-11-30T09:00'],
      [losAngeles, '2026-11-30T17:00'],
    ]);
    scene.clock.advance(363 * DAY);
    await pass(2 * DAY);
    expect((await started(id)).slice(2)).toEqual([
      [tokyo, '2027-11-30T00:00'],
      [plain, '2027-11-30T09:00'],
      [today, '2027-11-30T09:00'],
      [losAngeles, '2027-11-30T17:00'],
    ]);
  });

  it('a date that does not exist is counted when the automation is made, in a dry run, and not taken by an import', async () => {
    const contact = await born('1990-11-30');
    await born('31.02.1990');
    await born('1990-02-30');
    const steps = line(onDates(), wait('w', '4 weeks'));
    const answer = await at.must('POST', '/automations', { name: 'Birthday', status: 'enabled', ...steps });
    expect(answer.warnings).toEqual([
      '2 contacts have a birthday that is no date as YYYY-MM-DD or MM-DD, such as "1990-02-30", "31.02.1990"; it starts no run.',
    ]);
    const dry = await at.must('POST', `/automations/${answer.id as string}/dry-run`, { contact_id: contact });
    const examples = ['1990-02-30', '31.02.1990'];
    expect(dry.unreadable_dates).toEqual({ property: 'birthday', contacts: 2, examples });
    const file = 'email,birthday\nx@one.example,1990-02-30\ny@one.example,1992-02-29\nz@one.example,\n';
    const load = (onBadValue: string) =>
      importedIn(scene, has.team, file, { on_bad_value: onBadValue, on_conflict: 'upsert' });
    const failed = await load('fail_row');
    expect(failed.counts).toMatchObject({ created: 2, failed: 1 });
    expect(failed.failures).toMatchObject([{ row: 2, reason: expect.stringContaining('a date that exists') }]);
    expect(await load('skip_value')).toMatchObject({ counts: { created: 1, failed: 0 }, skipped_values: 1 });
  });

  it('starts a run days before or after it, once if that is set, at the hour that is set', async () => {
    const before = await make({ days: -3, hour: 6 });
    const after = await make({ repeat: 'once', days: 2, hour: 23 });
    const third = await born('1990-12-03');
    const once = await born('2026-11-28');
    await born('1990-11-28');
    await pass(DAY);
    expect(await started(before)).toEqual([[third, '2026-11-30T06:00']]);
    expect(await started(after)).toEqual([[once, '2026-11-30T23:00']]);
  });

  it('uses the fallback of the property timezone for a contact without a known time zone', async () => {
    const { data } = await at.get('/contact-properties');
    const zone = (data as { id: string; key: string }[]).find(({ key }) => key === 'timezone');
    await at.must('PATCH', `/contact-properties/${zone?.id}`, { fallback_value: 'America/New_York' });
    const id = await make();
    const first = await born('1990-11-30');
    const second = await born('1990-11-30', 'Middle Earth');
    await pass(DAY);
    expect((await started(id)).sort()).toEqual(
      [
        [first, '2026-11-30T14:00'],
        [second, '2026-11-30T14:00'],
      ].sort(),
    );
  });

  it('gives its run the date, the day and the years since, for the email', async () => {
    const graph = line(onDates(), mail('m', has, { PRODUCT: { var: 'event.years' }, TOTAL: { var: 'event.years' } }));
    await at.must('POST', '/automations', { name: 'Birthday', status: 'enabled', ...graph });
    await born('1990-11-30');
    await pass(10 * HOUR);
    await scene.settled();
    expect(arrived(scene, 'Thanks')).toHaveLength(1);
    expect((await at.get('/emails')).data).toHaveLength(1);
    const [{ id }] = (await at.get('/emails')).data;
    expect(await at.get(`/emails/${id}`)).toMatchObject({ html: '<p>36 36</p>' });
    const row = await scene.app.world.db.get<{ payload: string }>('select payload from automation_runs');
    expect(JSON.parse(row?.payload ?? '')).toEqual({ date: '1990-11-30', occurs_on: '2026-11-30', years: 36 });
  });

  it('on 29 February starts a run on 28 February of other years', async () => {
    scene.clock.advance(Date.parse('2027-02-28T00:00:00Z') - Date.parse(MORNING));
    const id = await make();
    const leap = await born('1996-02-29');
    const last = await born('1996-02-28');
    await pass(2 * DAY);
    expect((await started(id)).sort()).toEqual(
      [
        [leap, '2027-02-28T09:00'],
        [last, '2027-02-28T09:00'],
      ].sort(),
    );
  });

  it('starts no run if its hour has passed when the contact gets it, or when the automation is enabled', async () => {
    const id = await make();
    const late = await make({}, { status: 'disabled' });
    const early = await born('1990-11-30');
    await pass(9 * HOUR);
    await born('1990-11-30');
    await at.must('PATCH', `/automations/${late}`, { status: 'enabled' });
    await pass(DAY);
    expect((await started(id)).map(([contact]) => contact)).toEqual([early]);
    expect(await started(late)).toEqual([]);
  });

  it('obeys reentry, and starts no run of an automation that is disabled', async () => {
    const never = await make({}, { reentry: 'never' });
    const off = await make();
    await at.must('PATCH', `/automations/${off}`, { status: 'disabled' });
    const contact = await born('1990-11-30');
    await at.must('POST', `/automations/${never}/runs`, { contact_id: contact });
    await pass(DAY);
    expect(await listRuns(never)).toHaveLength(1);
    expect(await listRuns(off)).toEqual([]);
    expect(await at.get(`/automations/${never}/enrolment?contact=${contact}`)).toMatchObject({
      refusals: [{ reason: 'entered_before', times: 1 }],
    });
  });
});

describe('each contact starts once for a date', () => {
  it('although its time zone changes after it has started', async () => {
    const id = await make();
    const contact = await born('1990-11-30', 'Europe/Berlin');
    await pass(10 * HOUR);
    await at.must('PATCH', `/contacts/${contact}`, { properties: { timezone: 'America/New_York' } });
    await pass(DAY);
    expect(await started(id)).toEqual([[contact, '2026-11-30T08:00']]);
  });

  it('although the process breaks off after any of its statements, and starts again', async () => {
    const contacts = await Promise.all(Array.from({ length: 3 }, () => born('1990-11-30')));
    const id = await make();
    scene.clock.advance(9 * HOUR);
    const { world } = scene.app;
    let isComplete = false;
    for (let fails = 1; !isComplete && fails < 60; fails++) {
      let calls = 0;
      const cut = (): void => {
        if (++calls === fails) throw new Error('the process was killed');
      };
      // A process that is killed leaves what was committed, and nothing else.
      const db = overlaid(world.db, {
        run: async (...call) => {
          cut();
          return world.db.run(...call);
        },
        tx: async (work) => {
          const done = await world.db.tx((tx) =>
            work(
              overlaid(tx, {
                insertMany: async (...call) => {
                  const count = await tx.insertMany(...call);
                  cut();
                  return count;
                },
              }),
            ),
          );
          cut();
          return done;
        },
      });
      isComplete = await startDates({ ...world, db }).then(
        () => true,
        () => false,
      );
    }
    expect(isComplete).toBe(true);
    expect((await listRuns(id)).map((run) => run.contact_id).sort()).toEqual([...contacts].sort());
  });

  it('although two nodes look at the same time', async () => {
    const id = await make();
    const contacts = await Promise.all(Array.from({ length: 20 }, () => born('1990-11-30')));
    scene.clock.advance(9 * HOUR);
    await Promise.all(Array.from({ length: 4 }, () => startDates(scene.app.world)));
    expect((await listRuns(id)).map((run) => run.contact_id).sort()).toEqual([...contacts].sort());
  });

  it('after a downtime of up to 24 hours, and not for dates whose hour passed earlier', async () => {
    const id = await make();
    const first = await born('1990-11-30');
    const second = await born('1990-12-01');
    scene.clock.advance(2 * DAY + 8 * HOUR);
    await startDates(scene.app.world);
    await startDates(scene.app.world);
    expect((await listRuns(id)).map((run) => run.contact_id)).toEqual([second]);
    expect(await at.get(`/automations/${id}/enrolment?contact=${first}`)).toMatchObject({ latest_run: null });
  });

  it('and what is recorded of it is removed after seven days, with its contact, and with its automation', async () => {
    const id = await make();
    const other = await make();
    const contact = await born('1990-11-30');
    await born('1990-11-30');
    await pass(10 * HOUR);
    const rows = async () => (await scene.app.world.db.all('select * from automation_occurrences')).length;
    expect(await rows()).toBe(4);
    await at.must('DELETE', `/contacts/${contact}`);
    expect(await rows()).toBe(2);
    await at.must('DELETE', `/automations/${other}`);
    expect(await rows()).toBe(1);
    scene.clock.advance(7 * DAY);
    await removeOldEnrolments(scene.app.world);
    expect(await rows()).toBe(0);
    expect(await listRuns(id)).toHaveLength(2);
  });
});

describe('the job that starts dates', () => {
  it('reads dates only at an hour at which some contact may start, in pages', async () => {
    await make();
    await Promise.all(Array.from({ length: 3 }, () => born('1990-11-30', 'Asia/Kathmandu')));
    const { world } = scene.app;
    const read: string[] = [];
    const db = overlaid(world.db, {
      all: async (sql, values) => {
        if (sql.includes('contact_texts')) read.push(sql);
        return world.db.all(sql, values);
      },
    });
    const count = async (ms: number) => {
      scene.clock.advance(ms);
      read.length = 0;
      await startDates({ ...world, db });
      return read.filter((sql) => sql.includes('contact_id')).length;
    };
    expect(await count(MINUTE)).toBe(0);
    expect(read).toEqual([]);
    expect(await count(HOUR)).toBe(0);
    expect(await count(2 * HOUR + 14 * MINUTE)).toBe(1);
    expect(await count(0)).toBe(0);
    expect(read).toEqual([]);
  });
});

describe('a trigger by date', () => {
  it.each([
    [{ date_property: 'nothing' }, 'refers to the property nothing, which is not declared'],
    [{ date_property: 'seats' }, 'refers to the property seats, which is no string'],
    [{ event_name: 'order' }, 'may have either event_name or date_property'],
    [{ repeat: 'monthly' }, 'must have repeat: yearly or once'],
    [{ days: 366 }, 'must have days as a whole number from -365 to 365'],
    [{ days: 1.5 }, 'must have days as a whole number from -365 to 365'],
    [{ hour: 24 }, 'must have hour as a whole number from 0 to 23'],
  ])('is refused with %j', async (config, message) => {
    const answer = await at.call('POST', '/automations', { name: 'A', ...line(onDates(config), wait('w')) });
    expect(answer).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'steps.start', message: expect.stringContaining(message) }] },
    });
  });

  it('refuses fields of dates beside an event', async () => {
    const start = step('start', 'trigger', { event_name: 'order', hour: 9 });
    expect(await at.call('POST', '/automations', { name: 'A', ...line(start, wait('w')) })).toMatchObject({
      status: 422,
      body: { message: expect.stringContaining('may have hour only with date_property') },
    });
  });

  it('shows the next date of a contact, or what is wrong with its value', async () => {
    const id = await make({ days: -1 });
    const explain = async (contact: string) => (await at.get(`/automations/${id}/enrolment?contact=${contact}`)).date;
    expect(await explain(await born('1990-12-24', 'Europe/Berlin'))).toEqual({
      property: 'birthday',
      value: '1990-12-24',
      occurs_on: '2026-12-24',
      starts_at: '2026-12-23T08:00:00.000Z',
      message:
        'birthday is 1990-12-24. It occurs next on 2026-12-24 and starts a run at 2026-12-23T08:00:00.000Z, 9:00 in Europe/Berlin.',
    });
    expect(await explain(await born('24.12.1990'))).toMatchObject({
      value: '24.12.1990',
      starts_at: null,
      message: 'birthday is "24.12.1990", which is no date as YYYY-MM-DD or MM-DD.',
    });
    const none = (await at.must('POST', '/contacts', { email: 'none@example.org' })).id as string;
    expect(await explain(none)).toMatchObject({ value: null, message: 'The contact has no value of birthday.' });
  });

  it('begins a dry run at the next date of the contact', async () => {
    const id = await make();
    const contact = await born('1990-12-24', 'Europe/Berlin');
    const dry = await at.must('POST', `/automations/${id}/dry-run`, { contact_id: contact });
    expect(dry).toMatchObject({
      starts_at: '2026-12-24T08:00:00.000Z',
      steps: [{ key: 'start', reason: expect.stringContaining('occurs next on 2026-12-24') }, { key: 'w' }],
    });
  });
});
