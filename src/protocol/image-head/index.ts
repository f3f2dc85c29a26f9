/** The head of a picture's file: what kind it is by its first bytes, and how large it is drawn. Nothing is decoded. */
export { IMAGE_TYPES, readImageHead, type ImageHead, type ImageType } from './read-image-head.ts';
