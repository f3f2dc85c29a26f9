/** For options that may be given several times. */
export const collect = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value];
