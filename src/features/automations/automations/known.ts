import type { PropertyType } from '../../../protocol/contact-filter/index.ts';

/** What a config may name beside what the database has to be asked for. */
export interface Known {
  now: number;
  properties: ReadonlyMap<string, PropertyType>;
}

/** Says what is wrong, behind the name of the step. */
export type Tell = (says: string) => void;
