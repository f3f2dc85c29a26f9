/** Where the bytes of a picture stand among the contents. */
export const contentKey = (id: string): string => `${id}/image`;
