"""Samplers that hand every image its key, and the data set that passes it on."""

from mixcl.datasets.samplers.keyed import KeyedDataset, KeyedSampler, SampleKey
from mixcl.datasets.samplers.repeated import RepeatedKeyedSampler
