//! The checkpoint store on object_store.
