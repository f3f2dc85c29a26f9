/** What an option of the command line is called in a form, which has no dashes. */
export const asTyped = (option: string): string => option.replaceAll('-', ' ');
