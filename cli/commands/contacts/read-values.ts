export interface NameOptions {
  firstName?: string;
  lastName?: string;
  property?: string[];
}

/** A name of no letters is none. */
const nameOf = (text: string): string | null => (text === '' ? null : text);

export function readNames({ firstName, lastName }: NameOptions): {
  first_name?: string | null;
  last_name?: string | null;
} {
  return {
    ...(firstName === undefined ? {} : { first_name: nameOf(firstName) }),
    ...(lastName === undefined ? {} : { last_name: nameOf(lastName) }),
  };
}
