import { nextTurn } from '../../../platform/clock.ts';
import type { Executor } from '../../../platform/db/index.ts';
import type { World } from '../../../platform/world.ts';
import { foldText } from '../../../protocol/contact-filter/index.ts';
import { findTimeZone, type TimeZone } from '../../../protocol/time-zone.ts';
import { readDate } from '../../../protocol/written-date.ts';
import { enrol } from '../../../mail/events/index.ts';
import { createSendSwitch } from '../../../tenancy/instance/index.ts';
import {
  contactsWithText,
  declaredProperties,
  findContactsByIds,
  readPropertyValues,
  textsAmong,
  type ContactRow,
} from '../../audience/index.ts';
import { contactZones, type ContactZones } from '../../campaigns/index.ts';
import { addOccurrences, lockContacts, type OccurrenceRow } from '../automation-runs.store.ts';
import { holdAutomation, listDueForDates, saveDatesDone, type AutomationRow } from '../automations.store.ts';
import { findStart, formatDay, listDays, listTextsOn, type DateTrigger } from '../date-trigger.ts';

/** Clocks of all places show a full hour at a quarter of an hour of UTC. */
const QUARTER_MS = 900_000;
/** Dates whose hour passed longer ago, while no node ran, start no runs. */
const CATCH_UP_MS = 24 * 3_600_000;
const AUTOMATIONS_AT_ONCE = 20;
const PAGE = 200;

/**
 * Starts the runs of automations for the dates of contacts whose hour has come. Each automation has the time until which
 * that was done, so that nothing is looked up between two quarters of an hour, and an interrupted look is repeated as a
 * whole: contacts that were started before are recorded. The dates are read by the index of values, and only while it is
 * the hour somewhere.
 */
export async function startDates(world: World, stopping?: AbortSignal): Promise<void> {
  const { isOn, isRestored } = await createSendSwitch(world)();
  // The original may start the same runs.
  if (!isOn && isRestored) return;
  const to = Math.floor(world.clock.now() / QUARTER_MS) * QUARTER_MS;
  for (let due = await listDueForDates(world.db, to, AUTOMATIONS_AT_ONCE); due.length > 0;) {
    for (const automation of due) {
      if (stopping?.aborted) return;
      const isDone = await new DatesOfAutomation(world, automation, { to, stopping }).start();
      if (!isDone) return;
      await saveDatesDone(world.db, automation, to);
    }
    due = await listDueForDates(world.db, to, AUTOMATIONS_AT_ONCE);
  }
}

/** The automation was disabled or changed, so that its dates are not started by what was read of it. */
class Changed extends Error {}

/** Starts the runs of one automation whose hour came in an interval. */
class DatesOfAutomation {
  readonly #world: World;
  readonly #automation: AutomationRow;
  readonly #trigger: DateTrigger;
  readonly #from: number;
  readonly #to: number;
  readonly #stopping: AbortSignal | undefined;

  constructor(
    world: World,
    automation: AutomationRow,
    { to, stopping }: { to: number; stopping?: AbortSignal | undefined },
  ) {
    this.#world = world;
    this.#automation = automation;
    this.#trigger = JSON.parse(automation.trigger_date ?? '') as DateTrigger;
    this.#from = Math.max(Number(automation.dates_done_at), to - CATCH_UP_MS);
    this.#to = to;
    this.#stopping = stopping;
  }

  /** Returns false if it was interrupted. */
  async start(): Promise<boolean> {
    const { db } = this.#world;
    const { team_id: teamId, trigger_property_id: propertyId } = this.#automation;
    const property = (await declaredProperties(db, teamId)).find(({ id }) => id === propertyId);
    // The property was deleted, so that no contact has a date.
    if (!property) return true;
    const zones = await contactZones(db, teamId);
    try {
      for (const day of listDays(this.#trigger, { from: this.#from, to: this.#to })) {
        if (!this.#isHourAnywhere(day, zones)) continue;
        for (const text of await textsAmong(db, property.id, listTextsOn(day, this.#trigger)))
          if (!(await this.#startText({ day, text, propertyId: property.id }, zones))) return false;
      }
    } catch (error) {
      if (!(error instanceof Changed)) throw error;
    }
    return true;
  }

  #isHourAnywhere(day: number, { zones, fallback }: ContactZones): boolean {
    return [...zones.values(), fallback ?? UTC].some((zone) => this.#isDue(day, zone));
  }

  #isDue(day: number, zone: TimeZone): boolean {
    const at = findStart(day, this.#trigger, zone);
    return at > this.#from && at <= this.#to;
  }

  async #startText(date: { day: number; text: string; propertyId: string }, zones: ContactZones): Promise<boolean> {
    const { db } = this.#world;
    const { team_id: teamId } = this.#automation;
    for (let after: string | undefined; ;) {
      if (this.#stopping?.aborted) return false;
      const ids = await contactsWithText(db, date, { after, limit: PAGE });
      const contacts = (await findContactsByIds(db, teamId, ids)).filter((contact) =>
        this.#isDue(date.day, findZone(contact, zones)),
      );
      if (contacts.length > 0) await db.tx((tx) => this.#startRuns(tx, contacts, date));
      if (ids.length < PAGE) return true;
      after = ids.at(-1);
      await nextTurn();
    }
  }

  /** Starts runs for a page of contacts, each once for the date. */
  async #startRuns(
    tx: Executor,
    contacts: readonly ContactRow[],
    { day, text }: { day: number; text: string },
  ): Promise<void> {
    const { id, team_id: teamId, dates_done_at: before } = this.#automation;
    const there = await lockContacts(
      tx,
      teamId,
      contacts.map((contact) => contact.id),
    );
    const now = await holdAutomation(tx, teamId, id);
    if (now?.status !== 'enabled' || Number(now.dates_done_at) !== Number(before)) throw new Changed();
    const at = this.#world.clock.now();
    const occursOn = formatDay(day);
    const rows = [...there].map((contactId): OccurrenceRow => ({
      automation_id: id,
      contact_id: contactId,
      occurs_on: occursOn,
      created_at: at,
    }));
    const added = await addOccurrences(tx, rows);
    const payload = buildPayload(text, day);
    const enrolments = added.map((row) => ({
      teamId,
      contactId: row.contact_id,
      by: { automationId: id },
      payload,
      at,
    }));
    await enrol(tx, this.#world.ids, enrolments);
  }
}

/** Returns what the steps of a run see as its event; the years are those since the date, if that has a year. */
export function buildPayload(text: string, day: number): object {
  const year = readDate(text)?.year ?? null;
  return {
    date: text,
    occurs_on: formatDay(day),
    ...(year !== null && { years: new Date(day).getUTCFullYear() - year }),
  };
}

const UTC = readUtc();

function readUtc(): TimeZone {
  const zone = findTimeZone('UTC');
  if (!zone) throw new Error('the time zone UTC is unknown to this program');
  return zone;
}

/** Returns the time zone of a contact, or that of contacts without one: the fallback of the property, or UTC. */
export function findZone(contact: ContactRow, { property, zones, fallback }: ContactZones): TimeZone {
  const text = property && readPropertyValues(contact)[property.slot];
  const own = typeof text === 'string' ? zones.get(foldText(text)) : undefined;
  return own ?? fallback ?? UTC;
}
